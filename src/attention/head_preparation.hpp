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

/// What each pair of columns turns by from one position to the next, and what its cosine and sine
/// are multiplied by.
struct RotaryFrequencies {
  std::vector<double> per_pair;  ///< radians a position, width/2 of them
  double amplitude = 1;
};

/// Those of `width` turned columns in texts of `length` positions, in double precision: near
/// position 131071 a float's angle is wrong in the third digit.
RotaryFrequencies rotary_frequencies(double theta, std::size_t width, const RotaryScaling& scaling,
                                     std::size_t length);

/// Cosines and sines of the angles of some rows, [rows, width/2] each.
struct RotaryAngles {
  std::vector<double> cos, sin;
  std::size_t pairs = 0;  ///< width/2

  RotaryAngles(const RotaryFrequencies& frequencies, const std::vector<std::int64_t>& positions);
  /// Rows of given tables, int64 positions within them.
  RotaryAngles(const double* cos_table, const double* sin_table, std::size_t pairs,
               const std::vector<std::int64_t>& positions);
  /// The sums of one row of angles and those of some steps, each a rounding more than by itself.
  RotaryAngles(const RotaryAngles& start, const RotaryAngles& steps, std::size_t count);
};

/// Turns one row of a head in place; `row` numbers the rows of the angles.
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

/// What is done to each head's queries and new keys before they are compared: norms, then rotary
/// positions. Checked against the sizes of one attention.
class HeadPreparation {
 public:
  /// The positions of queries or of new keys, [samples, length]; one sample stands for all where
  /// they do not differ.
  struct Positions {
    std::vector<std::int64_t> all;
    std::size_t samples = 1, length = 0;

    std::int64_t at(std::size_t batch, std::size_t i) const {
      return all[(samples == 1 ? 0 : batch) * length + i];
    }
  };

  /// Throws Error(input) naming what does not fit. Keeps a reference to none of the arguments.
  HeadPreparation(const AttentionOptions& options, const Geometry& geometry,
                  const Visibility& visibility);

  /// Whether anything is to be done.
  explicit operator bool() const noexcept { return rotary_ || query_norm_ || key_norm_; }

  /// The sequences with queries and new keys as they are compared, in that precision.
  Sequences prepared(const Sequences& sequences, DType precision) const;

  // For whoever shows it step by step.
  const std::optional<Rotary>& rotary() const noexcept { return rotary_; }
  const Positions& query_positions() const noexcept { return query_positions_; }
  const Positions& key_positions() const noexcept { return key_positions_; }
  /// Cosines and sines of one position.
  RotaryAngles angles(std::size_t batch, const std::vector<std::int64_t>& positions) const;
  /// Of plain frequencies; none where tables are given.
  const std::optional<RotaryFrequencies>& frequencies() const noexcept { return frequencies_; }

 private:
  void adopt_rotary(const Geometry& geometry, const Visibility& visibility);
  void adopt_tables(const Geometry& geometry);
  void adopt_frequencies(const Geometry& geometry);
  void check_in_tables(const Positions& positions, const char* name) const;
  template <class T>
  Tensor prepared_rows(const Tensor& rows, const std::optional<HeadNorm>& norm,
                       const Positions& positions, std::size_t heads) const;
  // Rows of one head, which stand so many numbers apart.
  void prepare_rows_of(const double* from, std::size_t count, std::size_t width, std::size_t stride,
                       const std::optional<HeadNorm>& norm,
                       const std::optional<RotaryAngles>& angles, double* to) const;
  void prepare_rows_of(const float* from, std::size_t count, std::size_t width, std::size_t stride,
                       const std::optional<HeadNorm>& norm,
                       const std::optional<RotaryAngles>& angles, float* to) const;
  class AngleBlocks;

  std::optional<Rotary> rotary_;
  std::optional<HeadNorm> query_norm_, key_norm_;  ///< their weights in float64
  double eps_;
  std::size_t threads_, batch_, heads_, kv_heads_;
  Positions query_positions_, key_positions_;
  std::optional<RotaryFrequencies> frequencies_;
  std::size_t pairs_ = 0;
  bool sample_tables_ = false;  ///< whether each sample has cosines and sines of its own
};

/// Checks all that a mask, positions, norms and sinks have to fit. Throws Error(input), of all but
/// the mask as SeveralErrors.
void check_options(const AttentionOptions& options, const Geometry& geometry);

}  // namespace attn
