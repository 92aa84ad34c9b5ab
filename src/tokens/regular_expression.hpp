#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/split.hpp"

namespace attn {

/// A compiled regular expression over UTF-8, matched by PCRE2 with Unicode's properties.
class RegularExpression {
 public:
  /// `pattern` is in PCRE2's own syntax. Throws Error(input) at `where` if it cannot be compiled.
  RegularExpression(const std::string& pattern, const std::string& where);

  /// A pattern in Oniguruma's syntax (Ruby's), which tokenizer.json uses. What the two engines read
  /// differently is translated; what cannot be is refused by name.
  static RegularExpression from_oniguruma(std::string_view pattern, const std::string& where);

  /// All matches from left to right and what lies between them, which together are the text. An
  /// empty match directly behind another one does not count. Throws Error(input) where matching
  /// takes too many steps.
  void find(std::string_view text, std::vector<Stretch>& stretches) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

/// The same pattern in PCRE2's syntax.
std::string pcre_from_oniguruma(std::string_view pattern, const std::string& where);

/// Letters, marks, decimal digits, connectors and joiners: \w of Rust's regular expressions.
bool is_word_character(char32_t c);

}  // namespace attn
