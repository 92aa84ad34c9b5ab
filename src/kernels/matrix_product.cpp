#include "kernels/matrix_product.hpp"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matrix_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/tile_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// A panel of this depth stays in the first-level cache while all rows of a block pass over it.
constexpr std::size_t depth_block = 256;
constexpr std::size_t column_block = 12 * tile_columns;
constexpr std::size_t most_rows = rounded_up(product_row_block, tile_rows);

std::size_t packed_matrix_floats(std::size_t rows, std::size_t width) {
  return rounded_up(rows, tile_columns) * width;
}

void pack_matrix(const float* const* rows, std::size_t count, std::size_t width, float* packed) {
  pack_columns<tile_columns>(rows, count, width, 1.0F, packed);
}

std::size_t product_scratch_floats(std::size_t width) {
  return most_rows * (width + column_block);
}

void multiply_rows(const RowProduct& product, float* scratch) {
  const std::size_t width = product.width, rows = product.rows;
  const std::size_t strips = (rows + tile_rows - 1) / tile_rows;
  float* x = scratch;
  float* sums = scratch + most_rows * width;
  std::array<const float*, product_row_block> starts{};
  for (std::size_t i = 0; i < rows; ++i) starts[i] = product.x + i * product.x_stride;
  pack_columns<tile_rows>(starts.data(), rows, width, 1.0F, x);

  for (std::size_t left = 0; left < product.columns; left += column_block) {
    const std::size_t columns = std::min(column_block, product.columns - left);
    for (std::size_t k = 0; k < width; k += depth_block) {
      const std::size_t depth = std::min(depth_block, width - k);
      for (std::size_t column = 0; column < columns; column += tile_columns) {
        const float* panel = product.packed + (left + column) * width + k * tile_columns;
        for (std::size_t strip = 0; strip < strips; ++strip) {
          multiply_tile<true>(x + strip * tile_rows * width + k * tile_rows, 0, panel, depth,
                              sums + strip * tile_rows * column_block + column, column_block,
                              k > 0);
        }
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      const float* from = sums + i * column_block;
      float* to = product.y + i * product.y_stride + left;
      if (product.bias == nullptr) {
        std::copy_n(from, columns, to);
      } else {
        for (std::size_t j = 0; j < columns; ++j) to[j] = from[j] + product.bias[left + j];
      }
    }
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

HWY_EXPORT(packed_matrix_floats);
HWY_EXPORT(pack_matrix);
HWY_EXPORT(product_scratch_floats);
HWY_EXPORT(multiply_rows);

std::size_t packed_matrix_floats(std::size_t rows, std::size_t width) noexcept {
  return HWY_DYNAMIC_DISPATCH(packed_matrix_floats)(rows, width);
}

void pack_matrix(const float* const* rows, std::size_t count, std::size_t width,
                 float* packed) noexcept {
  HWY_DYNAMIC_DISPATCH(pack_matrix)(rows, count, width, packed);
}

std::size_t product_scratch_floats(std::size_t width) noexcept {
  return HWY_DYNAMIC_DISPATCH(product_scratch_floats)(width);
}

void multiply_rows(const RowProduct& product, float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(multiply_rows)(product, scratch);
}

}  // namespace attn::kernels
#endif
