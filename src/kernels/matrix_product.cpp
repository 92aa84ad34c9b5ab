#include "kernels/matrix_product.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matrix_product.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu_target.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The register tile: sums, rows × vectors, the vectors of W and one of x. 32 registers hold
// 24 + 3 + 1, 16 registers 12 + 2 + 1. Wide tiles load least: 11 numbers or vectors for 24
// multiply-adds. `terms_together` are unrolled.
#if HWY_TARGET == HWY_AVX3
constexpr std::size_t tile_rows = 8, tile_vectors = 3, terms_together = 4;
#else
constexpr std::size_t tile_rows = 6, tile_vectors = 2, terms_together = 8;
#endif
template <class T>
constexpr std::size_t lanes = hn::MaxLanes(hn::ScalableTag<T>());
template <class T>
constexpr std::size_t panel = tile_vectors* lanes<T>;

// The depth at which a tile's rows of x stay in the first-level cache over the panels of a group,
// and these in the second-level cache over all rows. Up to that depth a sum is written once.
template <class T>
constexpr std::size_t depth_block = 3072 / sizeof(T);
static_assert(product_group % panel<float> == 0 && product_group % panel<double> == 0);

// A group's panels take half of the second-level cache: the rows of x and y need the rest. Panels
// of three quarters of it cost a product 5 % of its speed, larger than all of it a sixth.
template <class T>
std::size_t group_columns(std::size_t width) {
  const std::size_t bytes = std::min(width, depth_block<T>) * sizeof(T) * panel<T>;
  return std::clamp<std::size_t>(second_level_cache() / 2 / bytes, 1, product_group / panel<T>) *
         panel<T>;
}

// c = a b + addend in the first vectors of a panel: c [rows,vectors], a [rows,depth],
// b [depth,panel]; addend [rows,vectors], one row for all (stride 0), or null.
template <class T, std::size_t rows, std::size_t vectors>
void multiply_tile(const T* HWY_RESTRICT a, std::size_t a_stride, const T* HWY_RESTRICT b,
                   std::size_t depth, const T* addend, std::size_t addend_stride, T* c,
                   std::size_t c_stride) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t width = lanes<T>;
  V sums[rows][vectors];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 3
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[r][v] = hn::Zero(d);
      // The sums are written after all products: their destination is prefetched meanwhile.
      hwy::Prefetch(c + r * c_stride + v * width);
    }
  }
  // Addresses can express three rows per pointer: p, p + s, p + 2s.
  const T* a1 = a + (rows > 3 ? 3 * a_stride : 0);
  const T* a2 = a + (rows > 6 ? 6 * a_stride : 0);
#pragma GCC unroll terms_together
  for (std::size_t k = 0; k < depth; ++k) {
    V factor[vectors];
#pragma GCC unroll 3
    for (std::size_t v = 0; v < vectors; ++v) {
      factor[v] = hn::LoadU(d, b + v * width);
    }
#if HWY_TARGET != HWY_AVX3
    // Prefetching beyond the end of a panel is harmless. A panel's line is one of the cache.
    hwy::Prefetch(b + 8 * panel<T>);
#endif
#pragma GCC unroll 8
    for (std::size_t r = 0; r < rows; ++r) {
      const T* row = r < 3   ? a + r * a_stride
                     : r < 6 ? a1 + (r - 3) * a_stride
                             : a2 + (r - 6) * a_stride;
      const V x = hn::Set(d, *row);
#pragma GCC unroll 3
      for (std::size_t v = 0; v < vectors; ++v) {
        sums[r][v] = hn::MulAdd(x, factor[v], sums[r][v]);
      }
    }
    b += panel<T>;
    ++a, ++a1, ++a2;
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 3
    for (std::size_t v = 0; v < vectors; ++v) {
      V sum = sums[r][v];
      if (addend != nullptr) {
        sum = hn::Add(sum, hn::LoadU(d, addend + r * addend_stride + v * width));
      }
      hn::StoreU(sum, d, c + r * c_stride + v * width);
    }
  }
}

template <class T>
using Tile = void (*)(const T*, std::size_t, const T*, std::size_t, const T*, std::size_t, T*,
                      std::size_t);

// Tiles of i rows, at index i − 1.
template <class T, std::size_t vectors, std::size_t... i>
constexpr std::array<Tile<T>, tile_rows> tiles_of(std::index_sequence<i...>) {
  return {multiply_tile<T, i + 1, vectors>...};
}
// Tiles of v vectors, at index v − 1.
template <class T, std::size_t... v>
constexpr std::array<std::array<Tile<T>, tile_rows>, tile_vectors> all_tiles(
    std::index_sequence<v...>) {
  return {tiles_of<T, v + 1>(std::make_index_sequence<tile_rows>())...};
}
template <class T>
constexpr auto tiles = all_tiles<T>(std::make_index_sequence<tile_vectors>());

// Adds the products of terms k…k + depth − 1 to rows first…first + rows − 1 of y, at most a tile,
// in the columns of the panel from `left` on; the first terms are added to the bias.
template <class T>
void multiply_panel(const RowProduct<T>& product, std::size_t left, std::size_t first,
                    std::size_t rows, std::size_t k, std::size_t depth) {
  const T* a = product.x + first * product.x_stride + k;
  const T* b = product.panels + left * product.width + k * panel<T>;
  T* y = product.y + first * product.y_stride + left;
  const std::size_t columns = std::min(panel<T>, product.columns - left);
  const Tile<T> tile = tiles<T>[(columns - 1) / lanes<T>][rows - 1];
  const T* bias = product.bias == nullptr ? nullptr : product.bias + left;
  if (columns % lanes<T> == 0) {
    tile(a, product.x_stride, b, depth, k > 0 ? y : bias, k > 0 ? product.y_stride : 0, y,
         product.y_stride);
    return;
  }
  // The last vector may be wider than the rest of y and of the bias.
  T whole[tile_rows * panel<T>] = {};
  if (k > 0) {
    for (std::size_t r = 0; r < rows; ++r) {
      std::copy_n(y + r * product.y_stride, columns, whole + r * panel<T>);
    }
  } else if (bias != nullptr) {
    for (std::size_t r = 0; r < rows; ++r) std::copy_n(bias, columns, whole + r * panel<T>);
  }
  tile(a, product.x_stride, b, depth, whole, panel<T>, whole, panel<T>);
  for (std::size_t r = 0; r < rows; ++r) {
    std::copy_n(whole + r * panel<T>, columns, y + r * product.y_stride);
  }
}

template <class T>
void multiply(const RowProduct<T>& product) {
  const std::size_t together = group_columns<T>(product.width);
  for (std::size_t group = 0; group < product.columns; group += together) {
    const std::size_t group_end = std::min(group + together, product.columns);
    for (std::size_t k = 0; k < product.width; k += depth_block<T>) {
      const std::size_t depth = std::min(depth_block<T>, product.width - k);
      for (std::size_t row = 0; row < product.rows; row += tile_rows) {
        const std::size_t rows = std::min(tile_rows, product.rows - row);
        for (std::size_t left = group; left < group_end; left += panel<T>) {
          multiply_panel(product, left, row, rows, k, depth);
        }
      }
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// Four numbers of every fourth of `unit` rows, in blocks of 128 bits.
template <std::size_t unit>
HWY_INLINE auto every_fourth(const float* HWY_RESTRICT from, std::size_t stride) {
  const hn::FixedTag<float, unit> d;
  if constexpr (unit == 4) {
    return hn::LoadU(d, from);
  } else {
    constexpr std::size_t half = unit / 2;
    return hn::Combine(d, every_fourth<half>(from + half * stride, stride),
                       every_fourth<half>(from, stride));
  }
}

// Transposes `unit` rows of four numbers to parts of four lines of the panel.
template <std::size_t unit>
HWY_INLINE void transpose(const float* HWY_RESTRICT from, std::size_t stride,
                          float* HWY_RESTRICT to) {
  const hn::FixedTag<float, unit> d;
  const auto x0 = every_fourth<unit>(from, stride), x1 = every_fourth<unit>(from + stride, stride);
  const auto x2 = every_fourth<unit>(from + 2 * stride, stride),
             x3 = every_fourth<unit>(from + 3 * stride, stride);
  const auto even_low = hn::InterleaveLower(d, x0, x2), odd_low = hn::InterleaveLower(d, x1, x3);
  const auto even_high = hn::InterleaveUpper(d, x0, x2), odd_high = hn::InterleaveUpper(d, x1, x3);
  hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, to + panel<float>);
  hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * panel<float>);
  hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * panel<float>);
}

// Packs columns `start` … `end` − 1 of W of as many times `unit` rows as there are from row j on.
// Returns the row after them.
template <std::size_t unit>
HWY_INLINE std::size_t pack_units(const PanelRows<float>& rows, std::size_t j, std::size_t start,
                                  std::size_t end, float* HWY_RESTRICT to) {
  for (; j + unit <= rows.count; j += unit) {
    const float* from = rows.first + j * rows.stride;
    std::size_t k = start;
    for (; k + 4 <= end; k += 4) {
      // Parts of rows are too short for the processor to foresee the next.
      if (k % (64 / sizeof(float)) == 0) {
        for (std::size_t i = 0; i < unit; ++i) {
          hwy::Prefetch(from + i * rows.stride + k + (end - start));
        }
      }
      transpose<unit>(from + k, rows.stride, to + k * panel<float> + j);
    }
    for (; k < end; ++k) {
      for (std::size_t i = 0; i < unit; ++i) {
        to[k * panel<float> + j + i] = from[i * rows.stride + k];
      }
    }
  }
  return j;
}
#endif

template <class T>
void pack(const PanelRows<T>& rows, T* HWY_RESTRICT to) {
  // Columns of W at a time, so few that the lines of the panel are written while they are in the
  // first-level cache.
  constexpr std::size_t chunk = 64;
  for (std::size_t start = 0; start < rows.width; start += chunk) {
    const std::size_t end = std::min(start + chunk, rows.width);
    std::size_t j = 0;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (std::is_same_v<T, float>) {
      constexpr std::size_t most = lanes<float>;
      if constexpr (most > 4) j = pack_units<most>(rows, j, start, end, to);
      j = pack_units<4>(rows, j, start, end, to);
    }
#endif
    for (; j < rows.count; ++j) {
      const T* from = rows.first + j * rows.stride;
      for (std::size_t k = start; k < end; ++k) to[k * panel<T> + j] = from[k];
    }
    for (; j < panel<T>; ++j) {
      for (std::size_t k = start; k < end; ++k) to[k * panel<T> + j] = 0;
    }
  }
}

template <class T>
void copy_lines(const PanelRows<T>& lines, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  // Each line is on another page, which the processor does not foresee.
  constexpr std::size_t ahead = 8, cache_line = 64 / sizeof(T);
  const std::size_t whole = lines.count / panel<T> * panel<T>;
  for (std::size_t k = 0; k < lines.width; ++k) {
    const T* line = lines.first + k * lines.stride;
    for (std::size_t j = 0; j < lines.count && k + ahead < lines.width; j += cache_line) {
      hwy::Prefetch(line + ahead * lines.stride + j);
    }
    T* own = to + k * panel<T>;
    for (std::size_t left = 0; left < whole; left += panel<T>, own += panel<T> * lines.width) {
#pragma GCC unroll 3
      for (std::size_t v = 0; v < tile_vectors; ++v) {
        hn::StoreU(hn::LoadU(d, line + left + v * lanes<T>), d, own + v * lanes<T>);
      }
    }
    if (whole == lines.count) continue;
    std::fill(std::copy(line + whole, line + lines.count, own), own + panel<T>, T(0));
  }
}

std::size_t panel_floats() {
  return panel<float>;
}

std::size_t panel_doubles() {
  return panel<double>;
}

std::size_t group_of_floats(std::size_t width) {
  return group_columns<float>(width);
}

std::size_t group_of_doubles(std::size_t width) {
  return group_columns<double>(width);
}

void pack_floats(const PanelRows<float>& rows, float* to) {
  pack(rows, to);
}

void pack_doubles(const PanelRows<double>& rows, double* to) {
  pack(rows, to);
}

void copy_float_lines(const PanelRows<float>& lines, float* to) {
  copy_lines(lines, to);
}

void copy_double_lines(const PanelRows<double>& lines, double* to) {
  copy_lines(lines, to);
}

void multiply_floats(const RowProduct<float>& product) {
  multiply(product);
}

void multiply_doubles(const RowProduct<double>& product) {
  multiply(product);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(panel_floats);
ATTN_FOR_TARGETS(panel_doubles);
ATTN_FOR_TARGETS(group_of_floats);
ATTN_FOR_TARGETS(group_of_doubles);
ATTN_FOR_TARGETS(pack_floats);
ATTN_FOR_TARGETS(pack_doubles);
ATTN_FOR_TARGETS(copy_float_lines);
ATTN_FOR_TARGETS(copy_double_lines);
ATTN_FOR_TARGETS(multiply_floats);
ATTN_FOR_TARGETS(multiply_doubles);

std::size_t product_panel_floats() noexcept {
  return ATTN_OF_TARGET(panel_floats)();
}

std::size_t product_panel_doubles() noexcept {
  return ATTN_OF_TARGET(panel_doubles)();
}

std::size_t product_group_floats(std::size_t width) noexcept {
  return ATTN_OF_TARGET(group_of_floats)(width);
}

std::size_t product_group_doubles(std::size_t width) noexcept {
  return ATTN_OF_TARGET(group_of_doubles)(width);
}

void pack_panel(const PanelRows<float>& rows, float* panel) noexcept {
  ATTN_OF_TARGET(pack_floats)(rows, panel);
}

void pack_panel(const PanelRows<double>& rows, double* panel) noexcept {
  ATTN_OF_TARGET(pack_doubles)(rows, panel);
}

void pack_lines(const PanelRows<float>& lines, float* panels) noexcept {
  ATTN_OF_TARGET(copy_float_lines)(lines, panels);
}

void pack_lines(const PanelRows<double>& lines, double* panels) noexcept {
  ATTN_OF_TARGET(copy_double_lines)(lines, panels);
}

void multiply_rows(const RowProduct<float>& product) noexcept {
  ATTN_OF_TARGET(multiply_floats)(product);
}

void multiply_rows(const RowProduct<double>& product) noexcept {
  ATTN_OF_TARGET(multiply_doubles)(product);
}

}  // namespace attn::kernels
#endif
