#include "tokens/regular_expression.hpp"

#include <algorithm>
#include <array>
#include <climits>

#include <oniguruma.h>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::size_t longest_pattern = 1 << 16;
constexpr unsigned deepest_nesting = 250;  // of groups and classes in a pattern

// Steps back to another way to match, about 6 ns each. A search may take `free_retries` of them
// uncounted, more than patterns of tokenizers need for a word. What searches take beyond comes from
// a budget for the whole text: patterns that try exponentially many ways at each place end there.
constexpr unsigned long free_retries = 64, retries_per_byte = 64, retries_per_text = 1UL << 26;
// Ways that are kept to come back to, 32 bytes each. \p{L}+ keeps one for each letter.
constexpr unsigned most_kept_ways = 1U << 23;

const OnigUChar* units(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

const OnigUChar* end_of(std::string_view text) {
  return units(text) + text.size();
}

// The library's message for a code; `info` holds the part of the pattern that it names.
std::string message_of(int code, OnigErrorInfo* info = nullptr) {
  std::array<OnigUChar, ONIG_MAX_ERROR_MESSAGE_LEN> text{};
  const int length = info == nullptr ? onig_error_code_to_str(text.data(), code)
                                     : onig_error_code_to_str(text.data(), code, info);
  return {text.begin(), text.begin() + length};
}

void initialize_library() {
  static const bool done = [] {
    std::array encodings = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings.data(), static_cast<int>(encodings.size()));
    onig_set_parse_depth_limit(deepest_nesting);
    return true;
  }();
  static_cast<void>(done);
}

// Cuts the text at all places where `literal`, which is not empty, is found.
void find_literal(std::string_view literal, std::string_view text,
                  std::vector<Stretch>& stretches) {
  std::size_t done = 0;
  for (std::size_t at = text.find(literal); at != std::string_view::npos;
       at = text.find(literal, done)) {
    if (done < at) stretches.push_back({done, at, false});
    done = at + literal.size();
    stretches.push_back({at, done, true});
  }
  if (done < text.size()) stretches.push_back({done, text.size(), false});
}

// Searches of one text, which share a budget of retries.
class Searches {
 public:
  Searches(const regex_t* code, std::string_view text)
      : code_(code), text_(text), budget_(retries_per_text + retries_per_byte * text.size()) {
    onig_initialize_match_param(limits_.get());
    onig_set_match_stack_limit_size_of_match_param(limits_.get(), most_kept_ways);
    onig_set_retry_limit_in_match_of_match_param(limits_.get(), ULONG_MAX);
  }

  // Looks for the first match that begins at `at` or later: the code of an error, or of none. The
  // library does not say how many retries a search took, so that one that reaches its limit is
  // repeated with four times as many.
  int search(std::size_t at) {
    for (unsigned long limit = free_retries;; limit *= 4) {
      limit = std::min(limit, budget_);
      onig_set_retry_limit_in_search_of_match_param(limits_.get(), limit);
      const int result = onig_search_with_param(const_cast<regex_t*>(code_), units(text_),
                                                end_of(text_), units(text_) + at, end_of(text_),
                                                region_.get(), ONIG_OPTION_NONE, limits_.get());
      if (result != ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER || limit == budget_) return result;
      budget_ -= limit;
    }
  }

  std::size_t begin() const { return static_cast<std::size_t>(region_->beg[0]); }
  std::size_t end() const { return static_cast<std::size_t>(region_->end[0]); }

 private:
  struct Free {
    void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
    void operator()(OnigMatchParam* limits) const { onig_free_match_param(limits); }
  };

  const regex_t* code_;
  std::string_view text_;
  unsigned long budget_;
  std::unique_ptr<OnigRegion, Free> region_{onig_region_new()};
  std::unique_ptr<OnigMatchParam, Free> limits_{onig_new_match_param()};
};

}  // namespace

struct RegularExpression::Compiled {
  std::string pattern, where;
  regex_t* code = nullptr;  // null for a literal text

  Compiled(std::string_view own_pattern, const std::string& own_where)
      : pattern(own_pattern), where(own_where) {}
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (code != nullptr) onig_free(code);
  }
};

RegularExpression::RegularExpression(std::string_view pattern, const std::string& where) {
  if (pattern.size() > longest_pattern) {
    throw input_error(
        translated("the pattern has {1} bytes, more than {2}", pattern.size(), longest_pattern),
        where, translated("give a shorter one"));
  }
  initialize_library();
  const auto compiled = std::make_shared<Compiled>(pattern, where);
  OnigErrorInfo info{};
  const int result = onig_new(&compiled->code, units(pattern), end_of(pattern), ONIG_OPTION_NONE,
                              ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
  if (result != ONIG_NORMAL) {
    compiled->code = nullptr;
    throw input_error(translated("the pattern {1} cannot be compiled: {2}", in_quotes(pattern),
                                 message_of(result, &info)),
                      where, translated("mend the pattern, or use one that Oniguruma can match"));
  }
  compiled_ = compiled;
}

RegularExpression RegularExpression::literal(std::string_view text) {
  if (text.empty()) return {"", ""};
  RegularExpression expression;
  expression.compiled_ = std::make_shared<const Compiled>(text, "");
  return expression;
}

void RegularExpression::find(std::string_view text, std::vector<Stretch>& stretches) const {
  if (compiled_->code == nullptr) return find_literal(compiled_->pattern, text, stretches);
  Searches searches(compiled_->code, text);
  std::size_t at = 0, done = 0;
  bool any = false;
  while (at <= text.size()) {
    const int result = searches.search(at);
    if (result == ONIG_MISMATCH) break;
    if (result < 0) {
      throw input_error(translated("the pattern {1} takes too long on this text: {2}",
                                   in_quotes(compiled_->pattern), message_of(result)),
                        compiled_->where,
                        translated("use a pattern with fewer ways to match the same text"));
    }
    const std::size_t begin = searches.begin(), end = searches.end();
    if (begin < done || end < begin) {
      throw input_error(
          translated("the pattern {1} gives matches that overlap", in_quotes(compiled_->pattern)),
          compiled_->where, translated("leave \\K out of it"));
    }
    if (begin == end && any && end == done) {
      at = end == text.size() ? end + 1 : end + utf8_length(text.substr(end));
      continue;
    }
    if (done < begin) stretches.push_back({done, begin, false});
    stretches.push_back({begin, end, true});
    at = done = end;
    any = true;
  }
  if (done < text.size()) stretches.push_back({done, text.size(), false});
}

bool is_word_character(char32_t c) {
  if (c < 0x80) {
    return (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z') || (c >= U'0' && c <= U'9') ||
           c == U'_';
  }
  static const RegularExpression word("[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]",
                                      "");
  std::string text;
  append_utf8(text, c);
  std::vector<Stretch> stretches;
  word.find(text, stretches);
  return stretches[0].match;
}

}  // namespace attn
