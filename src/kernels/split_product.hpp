#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Products with a W whose numbers are all bfloat16, as most checkpoints store it: only x is split
/// for matrix tiles (matrix_tile.hpp), into three products for one.
///
/// Whether that is best for so many rows: tiles are in use, and there are rows enough to make up
/// for packing W. A W of floats would take six products, which are slower than vectors where
/// neighbours use the tiles of a core too.
bool splits_product(std::size_t rows, std::size_t width) noexcept;

/// Rows of x that are multiplied at a time: x is split in whole blocks. Columns of y in a panel.
constexpr std::size_t split_row_block = 128, split_panel_columns = 32;

/// Of uint16: what `rows` rows of x, split, and `columns` rows of W, packed, take.
std::size_t split_x_count(std::size_t rows, std::size_t width) noexcept;
std::size_t split_w_count(std::size_t columns, std::size_t width) noexcept;

/// Rows of x, or of W as it is to be multiplied, [count, width]; or W as some files hold it, with
/// its rows side by side, [width, count].
struct SplitSource {
  const float* first;
  std::size_t stride, count, width;
  bool side_by_side = false;
};

/// Splits rows of x, at most a block, or packs a group of rows of W, whose numbers are bfloat16.
/// Returns false, and nothing of use, if a row's largest number is not 0, nor between 2⁻⁴⁰ and 2⁶⁰:
/// parts of numbers would be lost that count in its sums.
bool split_x_rows(const SplitSource& rows, std::uint16_t* to) noexcept;
bool split_w_rows(const SplitSource& rows, std::uint16_t* to) noexcept;

/// Rows of y = x Wᵀ + b, at most a block, and some of its columns, at most a product_group: x
/// split, W packed. Each sum is taken in one order, whatever `rows` and `columns` are.
struct SplitRowProduct {
  const std::uint16_t* x;
  std::size_t rows, width;
  const std::uint16_t* w;
  std::size_t columns;
  const float* bias;  ///< or null
  float* y;
  std::size_t y_stride;
  float* scratch;  ///< split_row_block × product_group numbers, from a multiple of 64 bytes on
};
void multiply_split_rows(const SplitRowProduct& product) noexcept;

}  // namespace attn::kernels
