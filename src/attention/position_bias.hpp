#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"
#include "kernels/attention_kernels.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {

/// The slopes of ALiBi (Press et al. 2022, section 3): 2^(−8h/n), h = 1…n, for the largest power of
/// two n ≤ heads, then the first, third, fifth… slope of 2n heads.
std::vector<double> alibi_slopes(std::size_t heads);

/// The bucket of a distance r = key − query (Raffel et al. 2020, section 2.1): each of the nearest
/// distances has its own, then they widen logarithmically up to `max_distance`. With both
/// directions half of the buckets are those of later keys; else later keys share the first.
std::size_t relative_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance,
                            bool bidirectional);

/// ALiBi and relative bias: terms added to a score by the distance of the key from the query's
/// position. Checked against the sizes of one attention.
class PositionBias {
 public:
  /// Throws Error(input) naming the option that does not fit. Keeps no reference to its arguments.
  PositionBias(const AttentionOptions& options, const Geometry& geometry);

  explicit operator bool() const noexcept { return alibi_ || relative_; }

  double term(std::size_t head, std::int64_t distance) const {
    return alibi(head, distance) + relative(head, distance);
  }
  /// −slope · |distance|; 0 without ALiBi, and for later keys unless it is symmetric.
  double alibi(std::size_t head, std::int64_t distance) const;
  double slope(std::size_t head) const { return alibi_ ? alibi_->slopes[head] : 0; }
  double relative(std::size_t head, std::int64_t distance) const;
  std::size_t bucket(std::int64_t distance) const;

 private:
  std::optional<Alibi> alibi_;  ///< with all slopes
  std::optional<RelativeBias> relative_;
};

/// Terms of a position bias by head and distance, in the layout that kernels read. Terms are
/// bounded by the largest number of T divided by 2⁷.
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

  /// The terms of the keys 0, 1… for a query at that position among the keys.
  const T* of(std::size_t head, std::ptrdiff_t place) const {
    return terms_.get() + head * count_ - (place + first_);
  }

 private:
  std::shared_ptr<T> terms_;  // [heads,count_], from distance first_ on
  std::ptrdiff_t first_ = 0;
  std::size_t count_ = 0;
};

/// The type of the weights and of masked scores. Biases, terms by distance and sinks are float32 in
/// narrow types too, and so are sums with them, by PyTorch's promotion.
DType weights_dtype(const AttentionOptions& options);

}  // namespace attn
