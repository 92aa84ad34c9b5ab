#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Rows of W per panel of the packed matrix. Packed matrices belong to one CPU target.
std::size_t product_panel_floats() noexcept;
std::size_t product_panel_doubles() noexcept;
template <class T>
std::size_t product_panel() noexcept {
  return sizeof(T) == sizeof(float) ? product_panel_floats() : product_panel_doubles();
}

/// `count` rows of a matrix, at most as many as a panel holds, to pack as the panel [width,panel]:
/// columns beyond the last row become zeros.
template <class T>
struct PanelRows {
  const T* first;
  std::size_t stride, count, width;
};
void pack_panel(const PanelRows<float>& rows, float* panel) noexcept;
void pack_panel(const PanelRows<double>& rows, double* panel) noexcept;

/// Panels as above, one after the other, of any number of rows that are stored as columns: number k
/// of row r is `first[k * stride + r]`, k < width. Each line k is read in one piece.
void pack_lines(const PanelRows<float>& lines, float* panels) noexcept;
void pack_lines(const PanelRows<double>& lines, double* panels) noexcept;

/// Most columns of a group, whole panels on every target: parts of a product are best as wide as a
/// group, and computed one after the other down the rows.
constexpr std::size_t product_group = 192;

/// Columns of a group for rows of x of that width: whole panels, so many that their packed W stays
/// in the second-level cache.
std::size_t product_group_floats(std::size_t width) noexcept;
std::size_t product_group_doubles(std::size_t width) noexcept;
template <class T>
std::size_t product_group_of(std::size_t width) noexcept {
  return sizeof(T) == sizeof(float) ? product_group_floats(width) : product_group_doubles(width);
}

/// y = x Wᵀ + b: y [rows, columns], x [rows, width], W [columns, width] as its panels one after the
/// other, b [columns] or null. Strides count numbers between rows. Each sum is taken in one order,
/// whatever `rows` and `columns` are, so that parts of a product may be computed apart.
template <class T>
struct RowProduct {
  const T* x;
  std::size_t x_stride, rows, width;
  const T* panels;
  std::size_t columns;
  const T* bias;
  T* y;
  std::size_t y_stride;
};
void multiply_rows(const RowProduct<float>& product) noexcept;
void multiply_rows(const RowProduct<double>& product) noexcept;

/// Largest number of rows of x for which packing W takes longer than the products.
constexpr std::size_t few_product_rows = 3;

/// Types of the numbers of W that products read where they are stored: numbers, then blocks of a few
/// bits with a common scale (llama.cpp's ggml).
enum class StoredNumber : std::uint8_t {
  float32,
  float64,
  bfloat16,
  float16,
  q4_0,
  q8_0,
  q4_k,
  q5_k,
  q6_k
};
constexpr bool in_blocks(StoredNumber type) noexcept {
  return type >= StoredNumber::q4_0;
}

/// Bytes of a number that is not in blocks.
constexpr std::size_t size_of(StoredNumber type) noexcept {
  return type == StoredNumber::float64 ? 8 : type == StoredNumber::float32 ? 4 : 2;
}

/// y = x Wᵀ + b for x [rows,width] of up to few_product_rows rows, with a W that is read once, as
/// it is stored: y [rows,count], b [count] or null. Strides count numbers of x and y between rows.
/// Sums do not depend on which other rows or columns are computed with them.
template <class T>
struct FewRowProduct {
  const T* x;
  std::size_t rows, width;
  StoredNumber stored;
  std::size_t count;
  const T* bias;
  T* y;
  std::size_t y_stride;
};

/// The product with rows of W [width], wherever they are; aligned for their type. T is float for
/// all types but float64. Rows in blocks need not be aligned; multiply_few_rows() takes them too.
void multiply_few_rows(const FewRowProduct<float>& product, const std::byte* const* w) noexcept;
void multiply_few_rows(const FewRowProduct<double>& product, const std::byte* const* w) noexcept;
void multiply_block_rows(const FewRowProduct<float>& product, const std::byte* const* w) noexcept;

/// The product with a W whose rows are columns of lines [count] in memory, `stride` bytes apart.
void multiply_few_columns(const FewRowProduct<float>& product, const std::byte* w,
                          std::size_t stride) noexcept;

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
