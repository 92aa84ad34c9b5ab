#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attn/attention.hpp"
#include "attn/rotary.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

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

/// Norms and rotary positions of each head's queries and new keys, applied in that order before
/// they are compared. Checked against the sizes of one attention.
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
                  const Visibility& visibility);

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
  void adopt_rotary(const Geometry& geometry, const Visibility& visibility);
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
  std::size_t threads_, batch_, heads_, kv_heads_;
  Positions query_positions_, key_positions_;
  std::optional<RotaryFrequencies> frequencies_;
  std::size_t pairs_ = 0;
  bool sample_tables_ = false;  ///< whether each sample has its own cosines and sines
};

/// Checks mask, positions, norms, biases and sinks against the sizes. Throws Error(input) for the
/// mask, SeveralErrors with all problems of the others.
void check_options(const AttentionOptions& options, const Geometry& geometry);

}  // namespace attn
