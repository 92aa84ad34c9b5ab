#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Products on matrix tiles (matrix_tile.hpp): x is split into three parts, and W too unless all
/// its numbers are bfloat16, which many checkpoints store.
///
/// Whether they pay for that number of rows: tiles are in use, and the rows make up for packing W.
bool splits_product(std::size_t rows, std::size_t width) noexcept;

/// Rows of x in a block, the unit of products; and rows of x or columns of y in a panel, the unit
/// of splitting.
constexpr std::size_t split_row_block = 256, split_panel = 32;

/// Parts of each number of W: one if all of them are bfloat16, else three.
enum class WeightParts { one = 1, three = 3 };

/// Sizes of `rows` split rows of x and of `columns` packed rows of W, in uint16.
std::size_t split_x_count(std::size_t rows, std::size_t width) noexcept;
std::size_t split_w_count(std::size_t columns, std::size_t width, WeightParts parts) noexcept;

/// Rows of x or of W, [count,width]; or W with its rows side by side, [width,count], as some files
/// hold it.
struct SplitSource {
  const float* first;
  std::size_t stride, count, width;
  bool side_by_side = false;
};

/// Splits rows of x, or packs rows of W, at most a product_group. Returns false,
/// with an invalid result, if a row's largest number is neither 0 nor between 2⁻⁴⁰ and 2⁶⁰: parts
/// of numbers that count in its sums would be lost.
bool split_x_rows(const SplitSource& rows, std::uint16_t* to) noexcept;
bool split_w_rows(const SplitSource& rows, WeightParts parts, std::uint16_t* to) noexcept;

/// Rows of y = x Wᵀ + b, at most a block, and some of its columns, at most a product_group: x
/// split, W packed. Each sum is taken in one order, whatever `rows` and `columns` are.
struct SplitRowProduct {
  const std::uint16_t* x;
  std::size_t rows, width;
  const std::uint16_t* w;
  WeightParts parts;  ///< of W as it was packed
  std::size_t columns;
  const float* bias;  ///< or null
  float* y;
  std::size_t y_stride;
  float* scratch;  ///< split_row_block × product_group numbers, from a multiple of 64 bytes on
};
void multiply_split_rows(const SplitRowProduct& product) noexcept;

}  // namespace attn::kernels
