#include "tokens/split.hpp"

#include <algorithm>

namespace attn {
namespace {

// Joins neighbours that belong together, going through them in this direction: a match to the
// stretch before it unless that is a match itself, or stretches of one kind.
template <class Iterator>
std::vector<Stretch> joined(Iterator first, Iterator last, bool of_one_kind) {
  std::vector<Stretch> result;
  bool previous_match = false;
  for (; first != last; ++first) {
    const bool joins =
        of_one_kind ? first->match == previous_match : first->match && !previous_match;
    previous_match = first->match;
    if (joins && !result.empty()) {
      result.back().begin = std::min(result.back().begin, first->begin);
      result.back().end = std::max(result.back().end, first->end);
    } else {
      result.push_back(*first);
    }
  }
  return result;
}

}  // namespace

void append_parts(std::vector<Stretch>& stretches, SplitBehavior behavior, std::size_t base,
                  std::vector<SplitText::Part>& parts) {
  switch (behavior) {
    case SplitBehavior::removed:
      std::erase_if(stretches, [](const Stretch& s) { return s.match; });
      break;
    case SplitBehavior::isolated:
      break;
    case SplitBehavior::contiguous:
    case SplitBehavior::merged_with_previous:
      stretches = joined(stretches.begin(), stretches.end(), behavior == SplitBehavior::contiguous);
      break;
    case SplitBehavior::merged_with_next:
      stretches = joined(stretches.rbegin(), stretches.rend(), false);
      std::reverse(stretches.begin(), stretches.end());
      break;
  }
  for (const Stretch& s : stretches) {
    if (s.begin < s.end) parts.push_back({base + s.begin, base + s.end, std::nullopt});
  }
}

}  // namespace attn
