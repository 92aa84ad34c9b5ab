#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace attn {

/// Many texts, to find those that another one begins with.
class PrefixIndex {
 public:
  PrefixIndex() = default;
  /// The texts are different and outlive the index. An empty one is never found.
  explicit PrefixIndex(std::vector<std::string_view> texts);

  /// Calls found(i) for each texts[i] that `text` begins with, the shortest first.
  template <class Found>
  void for_each_prefix(std::string_view text, Found&& found) const;

 private:
  unsigned char byte(std::size_t place, std::size_t depth) const {
    return static_cast<unsigned char>(texts_[order_[place]][depth]);
  }

  std::vector<std::string_view> texts_;
  std::vector<std::uint32_t> order_;            // the texts sorted
  std::array<std::uint32_t, 257> firsts_ = {};  // in `order_`, where each first byte begins
};

template <class Found>
void PrefixIndex::for_each_prefix(std::string_view text, Found&& found) const {
  if (text.empty()) return;
  const auto first = static_cast<unsigned char>(text[0]);
  std::size_t low = firsts_[first], high = firsts_[first + 1];
  for (std::size_t depth = 1; low < high; ++depth) {
    // Of those that agree so far, the one that ends here comes first.
    if (texts_[order_[low]].size() == depth) found(order_[low++]);
    if (depth == text.size()) return;
    const auto wanted = static_cast<unsigned char>(text[depth]);
    const auto first_with = [&](unsigned least) {
      std::size_t from = low, to = high;
      while (from < to) {
        const std::size_t middle = from + (to - from) / 2;
        if (byte(middle, depth) < least) {
          from = middle + 1;
        } else {
          to = middle;
        }
      }
      return from;
    };
    low = first_with(wanted);
    high = first_with(wanted + 1U);
  }
}

}  // namespace attn
