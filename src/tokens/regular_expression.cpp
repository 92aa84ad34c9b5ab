#include "tokens/regular_expression.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>

#include <oniguruma.h>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

constexpr std::size_t longest_pattern = 1 << 16;
constexpr unsigned deepest_nesting = 250;  // of groups and classes in a pattern

// Steps back to another way to match, about 6 ns each. A search may take `free_retries` of them
// uncounted, more than patterns of tokenizers need for a word. The rest comes from the budget of
// the text: patterns that try exponentially many ways at each place end there.
constexpr unsigned long free_retries = 64, retries_per_byte = 64, retries_per_text = 1UL << 26;
// Ways to match that a search keeps to come back to, 32 bytes each. \p{L}+ keeps one per letter,
// and a text has up to 4 MiB.
constexpr unsigned first_kept_ways = 1U << 16, most_kept_ways = (1U << 22) + 4096;
// Patterns may also look through the whole text at each of its places, without a step back, or
// within lookaheads, whose steps do not count. Therefore the processor time of a text is limited.
constexpr double seconds_per_text = 0.75, seconds_per_byte = 1e-6;
// Bytes that searches may look at before the time is checked, which takes longer than finding a
// word, and the number of searches of a whole text that they stand for.
constexpr std::size_t bytes_between_checks = 1U << 18, searches_between_checks = 16;

thread_local PatternSteps* steps_of_thread = nullptr;

// Processor time of this thread in seconds.
double thread_seconds() {
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

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

struct Free {
  void operator()(regex_t* code) const { onig_free(code); }
  void operator()(OnigRegion* region) const { onig_region_free(region, 1); }
  void operator()(OnigMatchParam* limits) const { onig_free_match_param(limits); }
};

}  // namespace

struct MatchBudget::State {
  unsigned long retries;
  double end;                        // thread_seconds() at which the time is over
  std::size_t checks_at, looked_at;  // bytes between checks of the time, and since the last check
  std::unique_ptr<OnigRegion, Free> region{onig_region_new()};  // where the last match lies
  std::unique_ptr<OnigMatchParam, Free> limits{onig_new_match_param()};

  explicit State(std::size_t bytes)
      : retries(retries_per_text + retries_per_byte * bytes),
        end(thread_seconds() + seconds_per_text + seconds_per_byte * static_cast<double>(bytes)),
        checks_at(bytes_between_checks + searches_between_checks * bytes),
        looked_at(0) {
    onig_initialize_match_param(limits.get());
    onig_set_retry_limit_in_match_of_match_param(limits.get(), ULONG_MAX);
  }

  // Looks for the first match at byte `at` or later; returns a code of the library. The library
  // reports neither the retries nor the time of a search and cannot be interrupted. Therefore a
  // search that reaches a limit is repeated with a fourfold one, as long as the time allows it.
  int search(regex_t* code, std::string_view text, std::size_t at) {
    looked_at += text.size() - at;
    if (looked_at > checks_at) {
      looked_at = 0;
      check_time();
      if (thread_seconds() > end) return ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
    }
    unsigned long limit = free_retries;
    unsigned kept_ways = first_kept_ways;
    for (double begin = 0;;) {
      limit = std::min(limit, retries);
      onig_set_retry_limit_in_search_of_match_param(limits.get(), limit);
      onig_set_match_stack_limit_size_of_match_param(limits.get(), kept_ways);
      const int result =
          onig_search_with_param(code, units(text), end_of(text), units(text) + at, end_of(text),
                                 region.get(), ONIG_OPTION_NONE, limits.get());
      if (result == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER && limit < retries) {
        retries -= limit;
        if (steps_of_thread != nullptr) steps_of_thread->take(limit);
        limit *= 4;
      } else if (result == ONIGERR_MATCH_STACK_LIMIT_OVER && kept_ways < most_kept_ways) {
        kept_ways = std::min(4 * kept_ways, most_kept_ways);
      } else {
        return result;
      }
      check_time();
      const double now = thread_seconds();
      const double next = begin > 0 ? 4 * (now - begin) : 0;
      if (now + next > end) return ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
      begin = now;
    }
  }
};

PatternSteps::PatternSteps(std::optional<double> most) : most_(most), before_(steps_of_thread) {
  steps_of_thread = this;
}
PatternSteps::~PatternSteps() {
  steps_of_thread = before_;
}

void PatternSteps::take(unsigned long steps) {
  taken_ += static_cast<double>(steps);
  if (!most_ || taken_ <= *most_) return;
  throw input_error(translated("the texts' patterns take {1} steps or more, and the limit of the "
                               "document's work is {2}",
                               amount_text(taken_, *most_), limit_text(*most_)),
                    "", translated("shorten the texts, or raise the limit with Limits::work"));
}

MatchBudget::MatchBudget(std::size_t bytes) : state_(std::make_unique<State>(bytes)) {}
MatchBudget::~MatchBudget() = default;

struct RegularExpression::Compiled {
  std::string pattern, where;
  std::unique_ptr<regex_t, Free> code;  // null for a literal text
};

RegularExpression::RegularExpression(std::string_view pattern, const std::string& where) {
  if (pattern.size() > longest_pattern) {
    throw input_error(
        translated("the pattern has {1} bytes, more than {2}", pattern.size(), longest_pattern),
        where, translated("give a shorter one"));
  }
  initialize_library();
  regex_t* code = nullptr;
  OnigErrorInfo info{};
  const int result = onig_new(&code, units(pattern), end_of(pattern), ONIG_OPTION_NONE,
                              ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
  if (result != ONIG_NORMAL) {
    throw input_error(translated("the pattern {1} cannot be compiled: {2}", in_quotes(pattern),
                                 message_of(result, &info)),
                      where,
                      translated("correct the pattern, or use one that Oniguruma can match"));
  }
  compiled_ = std::make_shared<const Compiled>(
      Compiled{std::string(pattern), where, std::unique_ptr<regex_t, Free>(code)});
}

RegularExpression RegularExpression::literal(std::string_view text) {
  if (text.empty()) return {"", ""};
  RegularExpression expression;
  expression.compiled_ = std::make_shared<const Compiled>(Compiled{std::string(text), "", nullptr});
  return expression;
}

void RegularExpression::find(std::string_view text, MatchBudget& budget,
                             std::vector<Stretch>& stretches) const {
  const auto& [pattern, where, code] = *compiled_;
  if (!code) return find_literal(pattern, text, stretches);
  const OnigRegion& region = *budget.state_->region;
  std::size_t at = 0, done = 0;
  bool any = false;
  while (at <= text.size()) {
    const int result = budget.state_->search(code.get(), text, at);
    if (result == ONIG_MISMATCH) break;
    if (result < 0) {
      throw input_error(
          where.empty()
              ? translated("the pattern {1} needs too many steps on this text", in_quotes(pattern))
              : translated("the pattern {1} of tokenizer.json, {2}, needs too many steps on this "
                           "text",
                           in_quotes(pattern), where),
          "", translated("use a pattern with fewer ways to match the same text"));
    }
    const auto begin = static_cast<std::size_t>(region.beg[0]);
    const auto end = static_cast<std::size_t>(region.end[0]);
    if (begin < done || end < begin) {
      throw input_error(
          translated("the pattern {1} gives matches that overlap", in_quotes(pattern)), "",
          translated("leave \\K out of it"));
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
  MatchBudget budget(text.size());
  std::vector<Stretch> stretches;
  word.find(text, budget, stretches);
  return stretches[0].match;
}

}  // namespace attn
