#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace attn {

/// Time that a piece of work may take. It is checked while the work goes on, at coarse steps, so
/// that it changes no result but that the work ends. A thread has one budget at a time;
/// parallel_for() and run_beside() give it to their workers.
class WorkBudget {
 public:
  /// Begins now; absent = no limit.
  explicit WorkBudget(std::optional<double> seconds);

  /// Names the document of the work in errors, unless a name is given already.
  void name(const std::string& document);

  /// Throws Error(input) if the time is over.
  void check() const;

 private:
  std::optional<double> seconds_;
  std::int64_t end_;  // ticks of the steady clock
  std::string document_;
};

/// Makes a budget that of the calling thread until the end of the scope; null = no limit.
class BudgetScope {
 public:
  explicit BudgetScope(WorkBudget* budget) noexcept;
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  WorkBudget* before_;
};

/// The budget of the calling thread; null if there is none.
WorkBudget* current_budget() noexcept;

/// Throws Error(input) if the time of the thread's budget is over. Takes some tens of nanoseconds.
void check_time();

/// Calls use(begin, end) for one stretch of `count` steps after the other, and check_time() before
/// each. A step takes about as long as `cost` additions.
template <class Use>
void in_stretches(std::size_t count, const Use& use, std::size_t cost = 1) {
  constexpr std::size_t most = 1 << 16;
  const std::size_t length = std::max<std::size_t>(1, most / std::max<std::size_t>(1, cost));
  for (std::size_t begin = 0; begin < count; begin += length) {
    check_time();
    use(begin, std::min(begin + length, count));
  }
}

}  // namespace attn
