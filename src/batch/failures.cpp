#include "batch/failures.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace attn {
namespace {

// Problems that quote a document would otherwise be kept for each.
constexpr std::size_t most_reasons = 1000;

}  // namespace

void Failures::add(std::size_t order, const BatchItem& item) {
  first_.emplace(order, item);
  if (first_.size() > most_failures_kept) first_.erase(std::prev(first_.end()));
  const std::string& problem = item.error->problem();
  if (reasons_.size() == most_reasons && !reasons_.contains(problem)) return;
  Reason& reason = reasons_[problem];
  if (reason.items++ == 0 || order < reason.order) {
    reason.order = order;
    reason.first = item;
  }
}

void Failures::tell(BatchOutcome& outcome) const {
  for (const auto& [order, item] : first_) outcome.failures.push_back(item);
  std::vector<const Reason*> reasons;
  for (const auto& [problem, reason] : reasons_) reasons.push_back(&reason);
  std::ranges::sort(reasons, {}, &Reason::order);
  reasons.resize(std::min(reasons.size(), most_failures_kept));
  for (const Reason* reason : reasons) outcome.reasons.push_back({reason->first, reason->items});
}

}  // namespace attn
