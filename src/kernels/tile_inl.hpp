// The register tile that all matrix products are made of. Compiled once for each CPU target.

#if defined(ATTN_KERNELS_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_TILE_INL
#undef ATTN_KERNELS_TILE_INL
#else
#define ATTN_KERNELS_TILE_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

constexpr std::size_t lanes = hn::MaxLanes(Tag());
// Rows × two vectors are held in registers; 32 registers hold 24 sums, 16 hold 12.
#if HWY_TARGET == HWY_AVX3
constexpr std::size_t tile_rows = 12;
#else
constexpr std::size_t tile_rows = 6;
#endif
constexpr std::size_t tile_columns = 2 * lanes;

constexpr std::size_t rounded_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// c = a b, or c += a b with `add`: c [tile_rows, tile_columns], b [depth, tile_columns]. `packed`
// tells how a lies: as [depth][tile_rows], or in rows `stride` apart.
template <bool packed>
HWY_INLINE void multiply_tile(const float* HWY_RESTRICT a, std::size_t stride,
                              const float* HWY_RESTRICT b, std::size_t depth, float* HWY_RESTRICT c,
                              std::size_t c_stride, bool add) {
  const Tag d;
  Vector left[tile_rows], right[tile_rows];
#pragma GCC unroll 12
  for (std::size_t r = 0; r < tile_rows; ++r) left[r] = right[r] = hn::Zero(d);
  // Three rows from one pointer are what an address can express: p, p + s, p + 2s.
  const float* a1 = a + 3 * stride;
  const float* a2 = a + 6 * stride;
  const float* a3 = a + 9 * stride;
  for (std::size_t k = 0; k < depth; ++k) {
    const Vector b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + lanes);
#pragma GCC unroll 12
    for (std::size_t r = 0; r < tile_rows; ++r) {
      const float* row = packed  ? a + r
                         : r < 3 ? a + r * stride
                         : r < 6 ? a1 + (r - 3) * stride
                         : r < 9 ? a2 + (r - 6) * stride
                                 : a3 + (r - 9) * stride;
      const Vector x = hn::Set(d, *row);
      left[r] = hn::MulAdd(x, b0, left[r]);
      right[r] = hn::MulAdd(x, b1, right[r]);
    }
    b += tile_columns;
    if constexpr (packed) {
      a += tile_rows;
    } else {
      ++a, ++a1, ++a2, ++a3;
    }
  }
  if (add) {
#pragma GCC unroll 12
    for (std::size_t r = 0; r < tile_rows; ++r) {
      left[r] = hn::Add(left[r], hn::LoadU(d, c + r * c_stride));
      right[r] = hn::Add(right[r], hn::LoadU(d, c + r * c_stride + lanes));
    }
  }
#pragma GCC unroll 12
  for (std::size_t r = 0; r < tile_rows; ++r) {
    hn::StoreU(left[r], d, c + r * c_stride);
    hn::StoreU(right[r], d, c + r * c_stride + lanes);
  }
}

// The rows, each `width` long and multiplied by the factor, as panels [width][unit]: column j of
// panel p is row p·unit + j. Columns beyond the last row are zeros.
template <std::size_t unit>
void pack_columns(const float* const* rows, std::size_t count, std::size_t width, float factor,
                  float* HWY_RESTRICT packed) {
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d4;
  const auto scale = hn::Set(d4, factor);
#endif
  for (std::size_t first = 0; first < count; first += unit) {
    for (std::size_t j = 0; j < unit; j += 2) {
      float* to = packed + j;
      const std::size_t row = first + j;
#if HWY_TARGET != HWY_SCALAR
      if (j % 4 == 0 && j + 4 <= unit && row + 4 <= count) {
        const float *r0 = rows[row], *r1 = rows[row + 1], *r2 = rows[row + 2], *r3 = rows[row + 3];
        std::size_t k = 0;
        for (; k + 4 <= width; k += 4) {
          const auto x0 = hn::Mul(scale, hn::LoadU(d4, r0 + k));
          const auto x1 = hn::Mul(scale, hn::LoadU(d4, r1 + k));
          const auto x2 = hn::Mul(scale, hn::LoadU(d4, r2 + k));
          const auto x3 = hn::Mul(scale, hn::LoadU(d4, r3 + k));
          const auto even_low = hn::InterleaveLower(d4, x0, x2);
          const auto odd_low = hn::InterleaveLower(d4, x1, x3);
          const auto even_high = hn::InterleaveUpper(d4, x0, x2);
          const auto odd_high = hn::InterleaveUpper(d4, x1, x3);
          hn::StoreU(hn::InterleaveLower(d4, even_low, odd_low), d4, to + k * unit);
          hn::StoreU(hn::InterleaveUpper(d4, even_low, odd_low), d4, to + (k + 1) * unit);
          hn::StoreU(hn::InterleaveLower(d4, even_high, odd_high), d4, to + (k + 2) * unit);
          hn::StoreU(hn::InterleaveUpper(d4, even_high, odd_high), d4, to + (k + 3) * unit);
        }
        for (; k < width; ++k) {
          to[k * unit] = factor * r0[k];
          to[k * unit + 1] = factor * r1[k];
          to[k * unit + 2] = factor * r2[k];
          to[k * unit + 3] = factor * r3[k];
        }
        j += 2;
        continue;
      }
#endif
      for (std::size_t side = 0; side < 2; ++side) {
        const float* from = row + side < count ? rows[row + side] : nullptr;
        for (std::size_t k = 0; k < width; ++k) {
          to[k * unit + side] = from != nullptr ? factor * from[k] : 0.0F;
        }
      }
    }
    packed += unit * width;
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
