#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/rotary.hpp"
#include "attn/tensor.hpp"

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

}  // namespace attn
