#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/aligned_text.hpp"

namespace attn {

/// Steps that patterns may take on one text, all its parts and all patterns together, and memory
/// that their searches share. For one thread at a time.
class MatchBudget {
 public:
  /// A budget for a text of this length: up to a second of the thread's time, which begins now, and
  /// more for long texts.
  explicit MatchBudget(std::size_t bytes);
  MatchBudget(const MatchBudget&) = delete;
  MatchBudget& operator=(const MatchBudget&) = delete;
  ~MatchBudget();

 private:
  friend class RegularExpression;
  friend class PatternSteps;
  struct State;

  std::unique_ptr<State> state_;
};

/// Limits the steps that patterns take on all texts that the calling thread reads until the end of
/// the scope, those of MatchBudget besides.
class PatternSteps {
 public:
  /// Absent = no limit.
  explicit PatternSteps(std::optional<double> most);
  ~PatternSteps();
  PatternSteps(const PatternSteps&) = delete;
  PatternSteps& operator=(const PatternSteps&) = delete;

 private:
  friend struct MatchBudget::State;
  void take(unsigned long steps);

  std::optional<double> most_;
  double taken_ = 0;
  PatternSteps* before_;
};

/// A compiled pattern over UTF-8. Copies share it; several threads may use it at a time.
class RegularExpression {
 public:
  /// Compiles a pattern in Oniguruma's syntax, which is that of tokenizer.json. Throws Error(input)
  /// at `where` if it cannot be compiled or exceeds 64 KiB.
  RegularExpression(std::string_view pattern, const std::string& where);

  /// An expression that finds a text as it is written.
  static RegularExpression literal(std::string_view text);

  /// Appends all matches from left to right and the stretches between them, which together cover
  /// the text. An empty match at the end of the match before it does not count. Throws Error(input)
  /// without a place if the budget is exhausted or matching takes more than 128 MiB of memory.
  void find(std::string_view text, MatchBudget& budget, std::vector<Stretch>& stretches) const;

 private:
  struct Compiled;

  RegularExpression() = default;

  std::shared_ptr<const Compiled> compiled_;
};

/// Whether a character is a letter, mark, decimal digit, connector or joiner: \w of Rust's regular
/// expressions.
bool is_word_character(char32_t c);

}  // namespace attn
