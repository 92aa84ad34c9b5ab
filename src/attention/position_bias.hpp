#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"

namespace attn {

/// The slopes of ALiBi (Press et al. 2022, section 3): 2^(−8h/n), h = 1…n, for the largest power of
/// two n ≤ heads, then the first, third, fifth… slope of 2n heads.
std::vector<double> alibi_slopes(std::size_t heads);

/// The bucket of a distance r = key − query (Raffel et al. 2020, section 2.1): each of the nearest
/// distances has its own, then they widen logarithmically up to `max_distance`. With both
/// directions half of the buckets are those of later keys; else later keys share the first.
std::size_t relative_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance,
                            bool bidirectional);

/// What ALiBi and a relative bias add to a score by the distance of the key from the query's place,
/// checked against the sizes of one attention.
class PositionBias {
 public:
  /// Throws Error(input) naming what does not fit. Keeps a reference to neither argument.
  PositionBias(const AttentionOptions& options, const Geometry& geometry);

  explicit operator bool() const noexcept { return alibi_ || relative_; }

  double term(std::size_t head, std::int64_t distance) const {
    return alibi(head, distance) + relative(head, distance);
  }
  /// −slope · |distance|, or 0 without ALiBi and for later keys that it leaves alone.
  double alibi(std::size_t head, std::int64_t distance) const;
  double slope(std::size_t head) const { return alibi_ ? alibi_->slopes[head] : 0; }
  double relative(std::size_t head, std::int64_t distance) const;
  std::size_t bucket(std::int64_t distance) const;

 private:
  std::optional<Alibi> alibi_;  ///< with all slopes
  std::optional<RelativeBias> relative_;
};

/// The type of the weights and of all that a bias has been added to: biases, terms by distance and
/// sinks are float32 in narrow types too, and so is what they are added to, by PyTorch's promotion.
DType weights_dtype(const AttentionOptions& options);

}  // namespace attn
