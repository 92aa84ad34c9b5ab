#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// The exact sum of finite doubles, equal in any order and however it is assembled from partial
/// sums: a fixed-point number wide enough for every double, in limbs of 32 bits with delayed
/// carries (Kulisch 2002, chapter 8).
class ExactSum {
 public:
  void add(double number);
  /// Adds number², exactly unless it is below 2^−1021.
  void add_square(double number);
  void add(const ExactSum& other);

  /// The sum to about 18 digits.
  long double value() const;

  /// The exact sum as text: "0", or the sign, the index of the lowest limb, ":", and the limbs from
  /// the highest down in hexadecimal digits.
  std::string text() const;
  /// The sum of a text() of it. Throws Error(input) for any other text.
  static ExactSum from_text(std::string_view text);

 private:
  // The lowest bit is 2^−1074; 2^64 of the largest doubles fit.
  static constexpr std::size_t count = 68;
  static constexpr std::int32_t lowest_exponent = -1074;
  using Limbs = std::array<std::int64_t, count>;

  // Brings all limbs but the highest into 0…2³²−1; the highest keeps the sign of the sum.
  static void carry(Limbs& limbs);
  // Turns the limbs into those of the absolute value. Returns whether the sum was negative.
  static bool negated(Limbs& limbs);

  Limbs limbs_{};
  std::size_t waiting_ = 0;  // numbers added since the last carry
};

/// The sum of weights as a multiple of 2⁻⁸⁰, equal in any order: exact for float32 weights from
/// 2⁻⁵⁶ on, each smaller one rounded by 2⁻⁸¹ at most. 2³⁰ weights up to 2¹⁶ fit. A quarter of the
/// digits of ExactSum take a thirtieth of its memory, which the cells of maps need.
class WeightSum {
 public:
  /// Adds a weight between −most and most.
  static constexpr double most = 0x1p16;
  void add(double weight);
  void add(const WeightSum& other) { sum_ += other.sum_; }

  double divided_by(std::uint64_t count) const;

  /// The multiple in hexadecimal digits, after "-" if it is negative.
  std::string text() const;
  /// The sum of a text() of it. Throws Error(input) for any other text.
  static WeightSum from_text(std::string_view text);

 private:
  __extension__ using Wide = __int128;

  Wide sum_ = 0;
};

/// The weights of a map [n,n] between its first positions, from its rows as they come.
class FirstPositions {
 public:
  /// At most `most` positions.
  FirstPositions(std::size_t length, std::size_t most)
      : length_(std::min(length, most)), weights_(length_ * length_) {}

  /// Takes the next row, n numbers.
  void add(const float* row) { read(row); }
  void add(const double* row) { read(row); }

  /// The weights [m,m]. Throws Error(input) for one that is not between −WeightSum::most and
  /// WeightSum::most.
  Tensor weights() const;

 private:
  template <class T>
  void read(const T* row) {
    if (row_ < length_) std::copy_n(row, length_, weights_.begin() + offset());
    ++row_;
  }
  std::ptrdiff_t offset() const { return static_cast<std::ptrdiff_t>(row_ * length_); }

  std::size_t length_, row_ = 0;
  std::vector<double> weights_;
};

/// Sums of the weights between the first positions of texts, cell by cell, as many positions as the
/// longest text has.
class MapSums {
 public:
  MapSums() = default;
  explicit MapSums(std::size_t positions) : positions_(positions), cells_(positions * positions) {}

  std::size_t positions() const noexcept { return positions_; }
  std::vector<WeightSum>& cells() noexcept { return cells_; }
  const std::vector<WeightSum>& cells() const noexcept { return cells_; }

  /// Adds a text's weights [m,m] of its first m positions.
  void add(const Tensor& weights);
  void add(const MapSums& other);

  /// Means [m,m] where `texts[i]` of the added texts have a position i: a cell is in as many as
  /// have the later of its positions. m is the number of positions that any text has.
  Tensor means(const std::vector<std::uint64_t>& texts) const;

 private:
  void grow(std::size_t positions);

  std::size_t positions_ = 0;
  std::vector<WeightSum> cells_;
};

}  // namespace attn
