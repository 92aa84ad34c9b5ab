#include "support/work_budget.hpp"

#include <chrono>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

thread_local WorkBudget* budget_of_thread = nullptr;

}  // namespace

WorkBudget::WorkBudget(std::optional<double> seconds) : seconds_(seconds) {
  // More seconds than this would overflow the clock's numbers.
  constexpr double most = 1e9;
  const std::chrono::duration<double> length(std::min(seconds.value_or(most), most));
  end_ = (Clock::now() + std::chrono::duration_cast<Clock::duration>(length))
             .time_since_epoch()
             .count();
}

void WorkBudget::name(const std::string& document) {
  if (document_.empty()) document_ = document;
}

void WorkBudget::check() const {
  if (!seconds_ || Clock::now().time_since_epoch().count() < end_) return;
  throw input_error(
      *seconds_ == 1
          ? translated("the document takes longer than 1 second")
          : translated("the document takes longer than {1} seconds", number_text(*seconds_)),
      document_, translated("make it smaller, or raise the limit with Limits::seconds"));
}

BudgetScope::BudgetScope(WorkBudget* budget) noexcept : before_(budget_of_thread) {
  budget_of_thread = budget;
}
BudgetScope::~BudgetScope() {
  budget_of_thread = before_;
}

WorkBudget* current_budget() noexcept {
  return budget_of_thread;
}

void check_time() {
  if (budget_of_thread != nullptr) budget_of_thread->check();
}

}  // namespace attn
