#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace attn {

/// Of more keys than so many, the first and the last are shown, and the heaviest beside them.
inline constexpr std::size_t most_keys = 16, first_keys = 8, last_keys = 4, heaviest_keys = 4;

/// Which of many things are shown: all of a few, else the first and the last ones and those that
/// matter.
class Excerpt {
 public:
  Excerpt() = default;
  /// All of at most `most` things; of more, the first `first` and the last `last`.
  Excerpt(std::size_t total, std::size_t most, std::size_t first, std::size_t last)
      : total_(total) {
    const bool all = total <= most || first + last >= total;
    for (std::size_t i = 0; i < (all ? total : first); ++i) indices_.push_back(i);
    if (!all) {
      for (std::size_t i = total - last; i < total; ++i) indices_.push_back(i);
    }
  }
  static Excerpt all(std::size_t total) { return {total, total, total, 0}; }

  void include(std::size_t index) {
    const auto at = std::lower_bound(indices_.begin(), indices_.end(), index);
    if (at == indices_.end() || *at != index) indices_.insert(at, index);
  }

  const std::vector<std::size_t>& indices() const noexcept { return indices_; }
  std::size_t total() const noexcept { return total_; }

  /// How many are left out before the shown one of that number; after the last for their count.
  std::size_t skipped_before(std::size_t number) const {
    const std::size_t from = number == 0 ? 0 : indices_[number - 1] + 1;
    return (number < indices_.size() ? indices_[number] : total_) - from;
  }

 private:
  std::vector<std::size_t> indices_;
  std::size_t total_ = 0;
};

}  // namespace attn
