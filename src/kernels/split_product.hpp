#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Whether a product of so many rows is best computed on matrix tiles: they are in use, and there
/// are rows enough to make up for splitting W.
bool splits_product(std::size_t rows, std::size_t width) noexcept;

/// Rows of x that are multiplied at a time: x is split in whole blocks. Columns of y in a panel.
constexpr std::size_t split_row_block = 128, split_panel_columns = 32;

/// Of uint16: what `rows` rows of x and `columns` rows of W take, split. W is in bfloat16 already
/// if `narrow`.
std::size_t split_x_count(std::size_t rows, std::size_t width) noexcept;
std::size_t split_w_count(std::size_t columns, std::size_t width, bool narrow) noexcept;

/// Rows of x, or of W as it is to be multiplied, [count, width]; or W as some files hold it, with
/// its rows side by side, [width, count].
struct SplitSource {
  const float* first;
  std::size_t stride, count, width;
  bool side_by_side = false;
  bool narrow = false;  ///< whether all numbers are bfloat16, which need not be split
};

/// Splits rows of x, at most a block, or a group of rows of W. Returns false, and nothing of use,
/// if a row's largest number is not 0, nor between 2⁻⁴⁰ and 2⁶⁰: parts of numbers would be lost
/// that count in its sums.
bool split_x_rows(const SplitSource& rows, std::uint16_t* to) noexcept;
bool split_w_rows(const SplitSource& rows, std::uint16_t* to) noexcept;

/// Rows of y = x Wᵀ + b, at most a block, and some of its columns, at most a product_group: x and W
/// split. Each sum is taken in one order, whatever `rows` and `columns` are.
struct SplitRowProduct {
  const std::uint16_t* x;
  std::size_t rows, width;
  const std::uint16_t* w;
  bool narrow;  ///< as W was split
  std::size_t columns;
  const float* bias;  ///< or null
  float* y;
  std::size_t y_stride;
  float* scratch;  ///< split_row_block × product_group numbers, from a multiple of 64 bytes on
};
void multiply_split_rows(const SplitRowProduct& product) noexcept;

}  // namespace attn::kernels
