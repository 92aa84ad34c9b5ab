#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>

#include "attention/geometry.hpp"
#include "attention/position_bias.hpp"
#include "attention/visibility.hpp"
#include "kernels/attention_kernels.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {

/// What a position bias adds, by head and distance, as kernels read it: from the first distance
/// that is ever read on. A term beyond the range of T is its largest number, divided by 2⁷.
template <class T>
class DistanceTerms {
 public:
  DistanceTerms(const PositionBias& bias, const Geometry& geometry, const Visibility& visibility,
                std::size_t threads) {
    std::ptrdiff_t least = visibility.offset(0), most = least;
    for (std::size_t b = 1; b < geometry.batch; ++b) {
      least = std::min(least, visibility.offset(b));
      most = std::max(most, visibility.offset(b));
    }
    constexpr auto margin = static_cast<std::ptrdiff_t>(kernels::distance_margin);
    first_ = -(static_cast<std::ptrdiff_t>(geometry.queries) + most) - margin;
    const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(geometry.keys) - least + margin;
    count_ = static_cast<std::size_t>(end - first_);
    terms_ = new_elements<T>(geometry.heads * count_);
    constexpr double largest = static_cast<double>(std::numeric_limits<T>::max()) / 128;
    parallel_for(geometry.heads, threads, [&](std::size_t head) {
      T* const terms = terms_.get() + head * count_;
      for (std::size_t i = 0; i < count_; ++i) {
        const double term = bias.term(head, first_ + static_cast<std::ptrdiff_t>(i));
        terms[i] = static_cast<T>(std::clamp(term, -largest, largest));
      }
    });
  }

  /// For a query at this place among the keys: those of the keys 0, 1…
  const T* of(std::size_t head, std::ptrdiff_t place) const {
    return terms_.get() + head * count_ - (place + first_);
  }

 private:
  std::shared_ptr<T> terms_;  // [heads, count_], the first of them at first_
  std::ptrdiff_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace attn
