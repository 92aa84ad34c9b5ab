#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

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
