#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/maps.hpp"

namespace attn::cli {

/// The meaning of a flag's text. Each of these functions throws Error(usage) that names the flag
/// and the values it takes.

/// A whole number from `least` up to 2^63 − 1.
std::size_t whole_number(const std::string& flag, const std::string& text, std::size_t least = 0);
/// "--layers 1 --head 2" of "1.2", the name of a head; empty for other texts.
std::string layer_and_head(const std::string& text);
std::int64_t integer(const std::string& flag, const std::string& text);
double finite_number(const std::string& flag, const std::string& text);
/// A whole number of at least 1; a suffix k, M, G or T multiplies it by 10^3, 10^6, 10^9 or 10^12.
/// The name of the unit, such as "B" of bytes, may follow.
std::uint64_t large_number(const std::string& flag, const std::string& text,
                           std::string_view unit = "");
/// A finite number of at least 0.
double finite_size(const std::string& flag, const std::string& text);
/// The parts of a list with commas between them. A part in double quotes may hold commas; two
/// quotes within it are one.
std::vector<std::string> quoted_list(const std::string& flag, const std::string& text);
/// Positions from A up to before B, "A:B", each of which may be negative or left out; if `single`,
/// one position such as "3" or "-1" too.
PositionRange position_range(const std::string& flag, const std::string& text, bool single = false);
/// The index of `text` among the names, with the nearest one in the error.
std::size_t choice(const std::string& flag, const std::string& text,
                   std::span<const std::string_view> names);

/// The error of a text that the flag does not take.
Error invalid_value(const std::string& flag, const std::string& text, const std::string& help);
/// The same with the help "give …", what the flag takes.
Error wrong_value(const std::string& flag, const std::string& text, const std::string& expected);
/// The same with the help "write …", what the text means.
Error written_otherwise(const std::string& flag, const std::string& text, const std::string& meant);

/// The error of a value that a variable of the shell has left empty.
Error unset(const std::string& flag, const std::string& text);

/// The error of a place that is counted from the end where it cannot be.
Error below_zero(const std::string& flag, std::int64_t number);

/// The parts between commas, empty ones too.
std::vector<std::string> comma_separated(const std::string& text);
/// The parts between commas of a list of numbers or names. Throws Error(usage) with the list as it
/// is meant for one with other separators or without a part.
std::vector<std::string> listed(const std::string& flag, const std::string& text);
/// The numbers of a range, "0,1,2" of "0-2" or "0:2", each after `before`; empty for other texts
/// and for very many numbers.
std::string numbers_of_range(const std::string& text, const std::string& before = "");
bool is_digits(const std::string& text);

/// The position of a flag's value: a number, or that of a name as reports have it, `" the" (12)`.
std::size_t position_of(const std::string& flag, const std::string& text);

/// Whether the whole text is one number of that type, which `number` is then.
template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// The row of that name. Throws Error(usage) with the nearest name.
template <class Table>
const auto& chosen(const std::string& flag, const std::string& text, const Table& table) {
  return table[choice(flag, text, names_of(table))];
}

/// "png, svg or pdf"
std::string alternatives(std::span<const std::string_view> names);

/// Groups of flags in help pages, in their order.
enum class FlagGroup { input, computation, mask, model, output, pictures, limits };

/// One flag of a command, from which parsing, help pages and completions of shells are made.
struct Flag {
  std::string name;   ///< "--out"
  std::string value;  ///< the placeholder of its value in help pages, "DIR"; empty for a switch
  std::string help;
  /// Called with the text that was given, with an empty one for a switch. Throws Error(usage).
  std::function<void(const std::string& text)> take;
  std::vector<std::string> words = {};  ///< values that shells complete
  bool list = false;                    ///< whether several words may be given, between commas
  bool repeats = false;                 ///< whether it may be given more than once
  bool hidden = false;      ///< another spelling of a flag, which is taken and not shown
  std::string spells = {};  ///< the flag that this one gives too, or is another name of
  FlagGroup group = FlagGroup::input;
  bool optional_value = false;  ///< whether it may be given without its value, as an empty text
  /// Flags of which one has to be given too, or "--analyses lens", one of its values, as this one
  /// has no effect without; empty = none.
  std::vector<std::string> needs = {};
  std::vector<std::string> idle_with = {};  ///< flags beside which this one has no effect
};

/// The one-letter name of a flag, "-o" of "--out"; empty if it has none.
std::string short_name(std::string_view flag);

/// The flags of a command, each bound to the variable that its value goes to.
class Flags : public std::vector<Flag> {
 public:
  /// Puts the flags that are added from now on into a group.
  void begin_group(FlagGroup group) { group_ = group; }

  Flag& add(std::string name, std::string value, std::string help,
            std::function<void(const std::string& text)> take) {
    Flag flag{std::move(name), std::move(value), std::move(help), std::move(take)};
    flag.group = group_;
    return emplace_back(std::move(flag));
  }

  /// Adds another spelling of a flag, which help pages do not show.
  void add_hidden(const std::string& name, const Flag& flag) {
    Flag other = flag;
    other.name = name;
    other.spells = flag.name;
    other.hidden = true;
    push_back(std::move(other));
  }

  /// Says of flags that are there that each has no effect without one of others.
  void need(const std::vector<std::string>& names, const std::vector<std::string>& others) {
    for (Flag& flag : *this) {
      if (std::ranges::count(names, flag.name) > 0) flag.needs = others;
    }
  }

  void toggle(std::string name, bool& target, std::string help) {
    add(std::move(name), "", std::move(help), [&target](const std::string&) { target = true; });
  }

  /// Says of flags that are there that each has no effect beside any of others.
  void idle(const std::vector<std::string>& names, const std::vector<std::string>& others) {
    for (Flag& flag : *this) {
      if (std::ranges::count(names, flag.name) > 0) flag.idle_with = others;
    }
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

 private:
  FlagGroup group_ = FlagGroup::input;
};

/// Lets shells complete the names of a table.
template <class Table>
void complete(Flag& flag, const Table& table) {
  for (const auto& row : table) flag.words.emplace_back(row.name);
}

/// Makes the flags append their names and the texts they are given to `words`, which must outlive
/// them.
void record(Flags& flags, std::vector<std::string>& words);

/// A text of the library with flags in place of the fields that it names: "--keys" for
/// "MapSelection::keys".
std::string with_flags(std::string text);
Error with_flags(const Error& error);

}  // namespace attn::cli
