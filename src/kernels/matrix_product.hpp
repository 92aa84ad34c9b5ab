#pragma once

#include <cstddef>

namespace attn::kernels {

/// The floats that pack_matrix() writes.
std::size_t packed_matrix_floats(std::size_t rows, std::size_t width) noexcept;

/// The matrix [count, width] given by its rows, laid out for multiply_rows(). What is packed for
/// one CPU target serves no other.
void pack_matrix(const float* const* rows, std::size_t count, std::size_t width,
                 float* packed) noexcept;

/// Most rows of x in one call of multiply_rows(), and the floats of scratch it needs.
constexpr std::size_t product_row_block = 96;
std::size_t product_scratch_floats(std::size_t width) noexcept;

/// Row i of y = x Wᵀ + b: y [rows, columns], x [rows, width], W [columns, width] packed, b
/// [columns] or null. Strides count floats between rows. Each sum is taken in one order, whatever
/// `rows` is.
struct RowProduct {
  const float* x;
  std::size_t x_stride, rows, width;
  const float* packed;
  std::size_t columns;
  const float* bias;
  float* y;
  std::size_t y_stride;
};
void multiply_rows(const RowProduct& product, float* scratch) noexcept;

}  // namespace attn::kernels
