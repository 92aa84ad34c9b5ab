#include "tokens/regular_expression.hpp"

#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::size_t longest_pattern = 1 << 16;

// The steps of one match. Patterns of tokenizers take few; those that try exponentially many ways
// end here.
constexpr std::uint32_t most_steps = 1'000'000;
constexpr std::uint32_t most_kilobytes = 64 * 1024;

PCRE2_SPTR units(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());
}

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

struct RegularExpression::Compiled {
  std::string pattern, where;
  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
};

RegularExpression::RegularExpression(const std::string& pattern, const std::string& where) {
  if (pattern.size() > longest_pattern) {
    throw input_error(
        translated("the pattern has {1} bytes, more than {2}", pattern.size(), longest_pattern),
        where, translated("give a shorter one"));
  }
  const auto compiled = std::make_shared<Compiled>();
  compiled->pattern = pattern;
  compiled->where = where;
  // Oniguruma's ^ and $ stand at every line in Ruby's syntax.
  constexpr std::uint32_t options =
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE offset = 0;
  compiled->code = pcre2_compile(units(pattern), pattern.size(), options, &error, &offset, nullptr);
  if (compiled->code == nullptr) {
    throw input_error(translated("the pattern {1} cannot be compiled: {2} at byte {3}",
                                 in_quotes(pattern), message_of(error), offset),
                      where, translated("mend the pattern, or use one that PCRE2 can match"));
  }
  pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE);  // without it matching is slower
  compiled->context = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(compiled->context, most_steps);
  pcre2_set_heap_limit(compiled->context, most_kilobytes);
  compiled_ = compiled;
}

RegularExpression RegularExpression::from_oniguruma(std::string_view pattern,
                                                    const std::string& where) {
  return {pcre_from_oniguruma(pattern, where), where};
}

void RegularExpression::find(std::string_view text, std::vector<Stretch>& stretches) const {
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
  const auto match_from = [&](std::size_t at) {
    const auto run = [&](std::uint32_t options) {
      return pcre2_match(compiled_->code, units(text), text.size(), at,
                         options | PCRE2_NO_UTF_CHECK, match.get(), compiled_->context);
    };
    const int result = run(0);
    // Compiled code has a small stack; the interpreter takes the heap.
    return result == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : result;
  };
  std::size_t at = 0, done = 0;
  bool any = false;
  while (at <= text.size()) {
    const int result = match_from(at);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      throw input_error(translated("the pattern {1} takes too long on this text: {2}",
                                   in_quotes(compiled_->pattern), message_of(result)),
                        compiled_->where,
                        translated("use a pattern with fewer ways to match the same text"));
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match.get());
    const std::size_t begin = ends[0], end = ends[1];
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
