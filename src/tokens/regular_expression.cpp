#include "tokens/regular_expression.hpp"

#include <array>
#include <limits>

#include <oniguruma.h>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::size_t longest_pattern = 1 << 16;
constexpr unsigned deepest_nesting = 250;  // of groups and classes in a pattern

// Ways that were left again in a search, about 6 ns each. Patterns of tokenizers take few; those
// that try exponentially many ways end here.
constexpr unsigned long most_retries = 1UL << 24;
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
  const std::unique_ptr<OnigRegion, void (*)(OnigRegion*)> region(
      onig_region_new(), [](OnigRegion* own) { onig_region_free(own, 1); });
  const std::unique_ptr<OnigMatchParam, decltype(&onig_free_match_param)> limits(
      onig_new_match_param(), onig_free_match_param);
  onig_initialize_match_param(limits.get());
  onig_set_match_stack_limit_size_of_match_param(limits.get(), most_kept_ways);
  onig_set_retry_limit_in_match_of_match_param(limits.get(),
                                               std::numeric_limits<unsigned long>::max());
  onig_set_retry_limit_in_search_of_match_param(limits.get(), most_retries);
  std::size_t at = 0, done = 0;
  bool any = false;
  while (at <= text.size()) {
    const int result =
        onig_search_with_param(compiled_->code, units(text), end_of(text), units(text) + at,
                               end_of(text), region.get(), ONIG_OPTION_NONE, limits.get());
    if (result == ONIG_MISMATCH) break;
    if (result < 0) {
      throw input_error(translated("the pattern {1} takes too long on this text: {2}",
                                   in_quotes(compiled_->pattern), message_of(result)),
                        compiled_->where,
                        translated("use a pattern with fewer ways to match the same text"));
    }
    const auto begin = static_cast<std::size_t>(region->beg[0]);
    const auto end = static_cast<std::size_t>(region->end[0]);
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
