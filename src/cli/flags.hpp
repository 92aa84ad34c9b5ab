#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/flag_values.hpp"

namespace attn::cli {

/// One flag of a command: all that parsing, help pages and completions of shells know of it.
struct Flag {
  std::string name;   ///< "--out"
  std::string value;  ///< what stands for its value: "DIR"; empty for a switch
  std::string help;
  /// What the text given means; of a switch, called with no text. Throws Error(usage).
  std::function<void(const std::string& text)> take;
  std::vector<std::string> words = {};  ///< values that it takes, for shells to complete
  bool list = false;                    ///< the words may follow one another with commas between
  bool repeats = false;                 ///< may be given more than once
};

/// The flags of a command, each bound to where its value goes.
class Flags : public std::vector<Flag> {
 public:
  Flag& add(std::string name, std::string value, std::string help,
            std::function<void(const std::string& text)> take) {
    return emplace_back(Flag{std::move(name), std::move(value), std::move(help), std::move(take)});
  }

  void toggle(std::string name, bool& target, std::string help) {
    add(std::move(name), "", std::move(help), [&target](const std::string&) { target = true; });
  }

  template <class Target>
  Flag& text(const std::string& name, Target& target, const std::string& value,
             const std::string& help) {
    return add(name, value, help, [&target](const std::string& text) { target = text; });
  }

  /// A whole number of at least `least`.
  template <class Target>
  void count(const std::string& name, Target& target, const std::string& value,
             const std::string& help, std::size_t least = 0) {
    add(name, value, help, [&target, name, least](const std::string& text) {
      target = whole_number(name, text, least);
    });
  }

  /// One of the names of a table. The help begins with them: "png, svg or pdf".
  template <class Target, class Table>
  void choice(const std::string& name, Target& target, const Table& table, const std::string& value,
              const std::string& help = "") {
    const auto names = names_of(table);
    add(name, value, alternatives(names) + help, [&target, name, table](const std::string& text) {
      target = chosen(name, text, table).value;
    }).words.assign(names.begin(), names.end());
  }
};

}  // namespace attn::cli
