#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attn/attention.hpp"
#include "attn/rotary.hpp"
#include "attn/tensor.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"
#include "kernels/attention_kernels.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {

/// Rotation of each pair of columns from one position to the next, and the factor of cosines and
/// sines.
struct RotaryFrequencies {
  std::vector<double> per_pair;  ///< radians per position, width/2 of them
  double amplitude = 1;
};

/// The frequencies of `width` rotated columns in texts of `length` positions, in double precision:
/// near position 131071 the angle of a float is wrong in its third digit.
RotaryFrequencies rotary_frequencies(double theta, std::size_t width, const RotaryScaling& scaling,
                                     std::size_t length);

/// Cosines and sines of the angles of some rows, [rows,width/2] each.
struct RotaryAngles {
  std::vector<double> cos, sin;
  std::size_t pairs = 0;  ///< width/2

  RotaryAngles(const RotaryFrequencies& frequencies, const std::vector<std::int64_t>& positions);
  /// Rows of given tables, int64 positions within them.
  RotaryAngles(const double* cos_table, const double* sin_table, std::size_t pairs,
               const std::vector<std::int64_t>& positions);
  /// Sums of one row of angles and `count` rows of steps, with one more rounding each.
  RotaryAngles(const RotaryAngles& start, const RotaryAngles& steps, std::size_t count);
};

/// Rotates one row of a head in place by row `row` of the angles.
template <class T>
void turn(T* head, const RotaryAngles& angles, std::size_t row, bool interleaved) {
  const double* cos = angles.cos.data() + row * angles.pairs;
  const double* sin = angles.sin.data() + row * angles.pairs;
  const std::size_t step = interleaved ? 2 : 1, apart = interleaved ? 1 : angles.pairs;
  for (std::size_t n = 0; n < angles.pairs; ++n) {
    T& first = head[n * step];
    T& second = head[n * step + apart];
    const double a = static_cast<double>(first), b = static_cast<double>(second);
    first = static_cast<T>(a * cos[n] - b * sin[n]);
    second = static_cast<T>(b * cos[n] + a * sin[n]);
  }
}

/// The norm of one head, whose row of the weight [H,d] it has; a weight [d] is that of all heads.
std::optional<Norm> norm_of_head(const std::optional<Norm>& norm, std::size_t head);

/// Norms and rotary positions of each head's queries and new keys, applied in that order, or the
/// norms last, before they are compared. Checked against the sizes of one attention.
class HeadPreparation {
 public:
  /// Positions of queries or of new keys, [samples,length]. One sample stands for all if they are
  /// equal.
  struct Positions {
    std::vector<std::int64_t> all;
    std::size_t samples = 1, length = 0;

    std::int64_t at(std::size_t batch, std::size_t i) const {
      return all[(samples == 1 ? 0 : batch) * length + i];
    }
  };

  /// Throws Error(input) naming the option that does not fit. Keeps no reference to its arguments.
  HeadPreparation(const AttentionOptions& options, const Geometry& geometry,
                  const QueryPlaces& places);

  /// Whether there is a norm or a rotation.
  explicit operator bool() const noexcept { return rotary_ || query_norm_ || key_norm_; }

  /// The sequences with prepared queries and new keys, in float32 or float64.
  Sequences prepared(const Sequences& sequences, DType precision) const;

  // Parts for explanations.
  const std::optional<Rotary>& rotary() const noexcept { return rotary_; }
  const Positions& query_positions() const noexcept { return query_positions_; }
  const Positions& key_positions() const noexcept { return key_positions_; }
  /// Cosines and sines at some positions of one sample.
  RotaryAngles angles(std::size_t batch, const std::vector<std::int64_t>& positions) const;
  /// The frequencies; absent if tables are given.
  const std::optional<RotaryFrequencies>& frequencies() const noexcept { return frequencies_; }

 private:
  void adopt_rotary(const Geometry& geometry, const QueryPlaces& places);
  void adopt_tables(const Geometry& geometry);
  void adopt_frequencies(const Geometry& geometry);
  void check_in_tables(const Positions& positions, const char* name) const;
  template <class T>
  Tensor prepared_rows(const Tensor& rows, const std::optional<Norm>& norm,
                       const Positions& positions, std::size_t heads) const;
  // Prepares `count` rows of one head, `stride` numbers apart.
  void prepare_rows_of(const double* from, std::size_t count, std::size_t width, std::size_t stride,
                       const std::optional<Norm>& norm, const std::optional<RotaryAngles>& angles,
                       double* to) const;
  void prepare_rows_of(const float* from, std::size_t count, std::size_t width, std::size_t stride,
                       const std::optional<Norm>& norm, const std::optional<RotaryAngles>& angles,
                       float* to) const;
  class AngleBlocks;

  std::optional<Rotary> rotary_;
  std::optional<Norm> query_norm_, key_norm_;  ///< their weights in float64
  double eps_;
  bool norms_after_rotary_;
  std::size_t threads_, batch_, heads_, kv_heads_;
  Positions query_positions_, key_positions_;
  std::optional<RotaryFrequencies> frequencies_;
  std::size_t pairs_ = 0;
  bool sample_tables_ = false;  ///< whether each sample has its own cosines and sines
};

/// Checks mask, positions, norms, biases and sinks against the sizes. Throws Error(input) for the
/// mask, SeveralErrors with all problems of the others.
void check_options(const AttentionOptions& options, const Geometry& geometry);

/// The slopes of ALiBi (Press et al. 2022, section 3): 2^(−8h/n), h = 1…n, for the largest power of
/// two n ≤ heads, then the first, third, fifth… slope of 2n heads.
std::vector<double> alibi_slopes(std::size_t heads);

/// Bias [1,H,1,Lk] from the request's ALiBi to slope · j rounded to bfloat16 for each key j, as in
/// Falcon. Absent where rounding changes none of them.
Tensor alibi_rounding(const AttentionRequest& request);

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

  /// Samples whose terms differ: all, or the first one for all.
  std::size_t samples() const { return alibi_ ? alibi_->samples : 1; }

  double term(std::size_t batch, std::size_t head, std::int64_t distance) const {
    return alibi(batch, head, distance) + relative(head, distance);
  }
  /// −slope · |distance|; 0 without ALiBi, and for later keys unless it is symmetric.
  double alibi(std::size_t batch, std::size_t head, std::int64_t distance) const;
  double slope(std::size_t batch, std::size_t head) const {
    return alibi_ ? alibi_->slopes[batch % alibi_->samples * heads_ + head] : 0;
  }
  double relative(std::size_t head, std::int64_t distance) const;
  std::size_t bucket(std::int64_t distance) const;

 private:
  std::optional<Alibi> alibi_;  ///< with all slopes
  std::size_t heads_;
  std::optional<RelativeBias> relative_;
};

/// Terms of a position bias by head and distance, in the layout that kernels read. Terms are
/// bounded by the largest number of T divided by 2⁷.
template <class T>
class DistanceTerms {
 public:
  DistanceTerms(const PositionBias& bias, const Geometry& geometry, const QueryPlaces& places,
                std::size_t threads) {
    std::ptrdiff_t least = places.offset(0), most = least;
    for (std::size_t b = 1; b < geometry.batch; ++b) {
      least = std::min(least, places.offset(b));
      most = std::max(most, places.offset(b));
    }
    constexpr auto margin = static_cast<std::ptrdiff_t>(kernels::distance_margin);
    first_ = -(static_cast<std::ptrdiff_t>(geometry.queries) + most) - margin;
    const std::ptrdiff_t end = static_cast<std::ptrdiff_t>(geometry.keys) - least + margin;
    count_ = static_cast<std::size_t>(end - first_);
    heads_ = geometry.heads;
    samples_ = bias.samples();
    terms_ = new_elements<T>(samples_ * heads_ * count_);
    constexpr double largest = static_cast<double>(std::numeric_limits<T>::max()) / 128;
    parallel_for(samples_ * heads_, threads, [&](std::size_t at) {
      T* const terms = terms_.get() + at * count_;
      for (std::size_t i = 0; i < count_; ++i) {
        const double term =
            bias.term(at / heads_, at % heads_, first_ + static_cast<std::ptrdiff_t>(i));
        terms[i] = static_cast<T>(std::clamp(term, -largest, largest));
      }
    });
  }

  /// The terms of the keys 0, 1… for a query at that position among the keys.
  const T* of(std::size_t batch, std::size_t head, std::ptrdiff_t place) const {
    return terms_.get() + (batch % samples_ * heads_ + head) * count_ - (place + first_);
  }

 private:
  std::shared_ptr<T> terms_;  // [samples_,heads_,count_], from distance first_ on
  std::size_t samples_ = 1, heads_ = 1;
  std::ptrdiff_t first_ = 0;
  std::size_t count_ = 0;
};

/// The type that scores are rounded to after each step.
DType step_dtype(const AttentionOptions& options);

/// The type of the weights and of masked scores. Biases, terms by distance and sinks are float32 in
/// 16-bit types too, and so are sums with them, by PyTorch's promotion.
DType weights_dtype(const AttentionOptions& options);

/// The rows that distances i − j of a query i and a key j have in a table of 2·span rows. The first
/// rows are those of later keys; distances that are too large share the first or the last row.
struct DistanceRows {
  std::size_t span = 0;
  /// Distances up to buckets/2 have rows of their own, and behind them rows widen logarithmically
  /// up to `max_distance`, as in DeBERTa-v2; 0 = every distance has one. Not 1.
  std::size_t buckets = 0, max_distance = 0;

  std::size_t row(std::int64_t distance) const;
};

/// Terms of a score between contents and positions (He et al. 2021, section 3.1): what the row of a
/// distance has in the place of a key and of a query.
struct DisentangledTerms {
  DistanceRows distances;
  Tensor keys, queries;    ///< [2·span,H·d]; absent = no such term
  Tensor key_shifts = {};  ///< numbers [2·span,H] added to products with `keys`; absent = 0
  /// Vectors [2,H·d] in the place of a key, of tokens of the query's own type and of those of
  /// others, and numbers [2,H] that are added to the products with them (Yang et al. 2019, "XLNet",
  /// section 2.5); absent = no such term.
  Tensor segments = {}, segment_shifts = {};
};

/// The sum of the terms for the scores [B,H,Lq,Lk] of a scaled dot product with as many key heads
/// as query heads: scale · (q_i · keys[δ] + k_j · queries[δ] + q_i · segments[σ]), δ being the row
/// of i − j and σ whether the types of i and j differ. Without `types` [L] of the tokens there are
/// no segments. Computed in double precision; of the queries' type.
Tensor disentangled_bias(const DisentangledTerms& terms, const AttentionRequest& request,
                         std::span<const std::int64_t> types = {});

}  // namespace attn
