// The register tile of attention's products, packing for it, and scratch memory. Compiled once for
// each CPU target. Linear layers have another tile (matrix_product.cpp) of 8 rows by 3 vectors,
// which loads less per product and prefetches its wide panels from memory; heads 32 or 64 wide
// would leave a third of such panels empty, while their panels of 2 vectors are full and in the
// cache. Matrix tiles (matrix_tile.hpp) are other instructions on other numbers.

#if defined(ATTN_KERNELS_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_TILE_INL
#undef ATTN_KERNELS_TILE_INL
#else
#define ATTN_KERNELS_TILE_INL
#endif

#include <cstddef>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
constexpr std::size_t lanes_of = hn::MaxLanes(hn::ScalableTag<T>());
// Rows of the tile, two vectors each, that registers hold: 24 sums of 32 registers, 12 of 16.
#if HWY_TARGET == HWY_AVX3
constexpr std::size_t tile_rows = 12;
#else
constexpr std::size_t tile_rows = 6;
#endif
template <class T>
constexpr std::size_t columns_of = 2 * lanes_of<T>;

constexpr std::size_t rounded_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

// Numbers of T in a cache line, and a count rounded up to whole lines.
template <class T>
constexpr std::size_t cache_line = 64 / sizeof(T);
template <class T>
constexpr std::size_t in_lines(std::size_t count) {
  return rounded_up(count, cache_line<T>);
}

// Cuts a scratch into parts, each of whole cache lines. Without a scratch they are only counted.
template <class T>
class ScratchParts {
 public:
  explicit ScratchParts(T* scratch) : scratch_(scratch) {}
  T* next(std::size_t numbers) {
    T* const part = scratch_ == nullptr ? nullptr : scratch_ + count_;
    count_ += in_lines<T>(numbers);
    return part;
  }
  std::size_t count() const { return count_; }

 private:
  T* scratch_;
  std::size_t count_ = 0;
};

// c = a b, or c += a b with `add`: c [rows,columns_of<T>], b [depth,columns_of<T>]; a is
// [depth,rows] if `packed`, else [rows,depth] with rows `stride` apart. With `fetches`, a line of
// the cache is fetched per four terms, from `ahead` on. Not inlined, because the compiler would not
// keep all sums in registers among other variables.
template <bool packed, std::size_t rows = tile_rows, bool fetches = false, class T>
HWY_NOINLINE void multiply_tile(const T* HWY_RESTRICT a, std::size_t stride,
                                const T* HWY_RESTRICT b, std::size_t depth, T* HWY_RESTRICT c,
                                std::size_t c_stride, bool add,
                                [[maybe_unused]] const T* ahead = nullptr) {
  static_assert(rows <= 12);
  constexpr std::size_t size = lanes_of<T>;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V left[rows], right[rows];
#pragma GCC unroll 12
  for (std::size_t r = 0; r < rows; ++r) left[r] = right[r] = hn::Zero(d);
  // Addresses can express three rows per pointer: p, p + s, p + 2s.
  const T* a1 = a + 3 * stride;
  const T* a2 = a + 6 * stride;
  const T* a3 = a + 9 * stride;
  const auto step = [&](std::size_t k) HWY_ATTR {
    const V b0 = hn::LoadU(d, b + 2 * size * k), b1 = hn::LoadU(d, b + 2 * size * k + size);
#pragma GCC unroll 12
    for (std::size_t r = 0; r < rows; ++r) {
      const T* row = packed  ? a + rows * k + r
                     : r < 3 ? a + r * stride + k
                     : r < 6 ? a1 + (r - 3) * stride + k
                     : r < 9 ? a2 + (r - 6) * stride + k
                             : a3 + (r - 9) * stride + k;
      const V x = hn::Set(d, *row);
      left[r] = hn::MulAdd(x, b0, left[r]);
      right[r] = hn::MulAdd(x, b1, right[r]);
    }
  };
  const auto advance = [&](std::size_t count) HWY_ATTR {
    b += 2 * size * count;
    a += packed ? rows * count : count;
    a1 += count, a2 += count, a3 += count;
  };
  std::size_t k = depth;
  for (; k >= 4; k -= 4) {
    step(0), step(1), step(2), step(3);
    advance(4);
    if constexpr (fetches) {
      hwy::Prefetch(ahead);
      ahead += cache_line<T>;
    }
  }
  for (; k > 0; --k) {
    step(0);
    advance(1);
  }
  if (add) {
#pragma GCC unroll 12
    for (std::size_t r = 0; r < rows; ++r) {
      left[r] = hn::Add(left[r], hn::LoadU(d, c + r * c_stride));
      right[r] = hn::Add(right[r], hn::LoadU(d, c + r * c_stride + size));
    }
  }
#pragma GCC unroll 12
  for (std::size_t r = 0; r < rows; ++r) {
    hn::StoreU(left[r], d, c + r * c_stride);
    hn::StoreU(right[r], d, c + r * c_stride + size);
  }
}

#if HWY_TARGET != HWY_SCALAR
// Stores the 4 × 4 numbers in each 128 bits of four rows transposed, to lines `unit` numbers apart.
template <class D, class V>
HWY_INLINE void store_transposed(D d, V x0, V x1, V x2, V x3, hn::TFromD<D>* to, std::size_t unit) {
  const auto even_low = hn::InterleaveLower(d, x0, x2);
  const auto odd_low = hn::InterleaveLower(d, x1, x3);
  const auto even_high = hn::InterleaveUpper(d, x0, x2);
  const auto odd_high = hn::InterleaveUpper(d, x1, x3);
  hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, to + unit);
  hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * unit);
  hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * unit);
}

// Transposes columns k … k + 3 of four rows, times the factor, to lines `unit` numbers apart.
HWY_INLINE void transpose_4x4(const float* const* rows, std::size_t k, float factor, float* to,
                              std::size_t unit) {
  const hn::FixedTag<float, 4> d;
  const auto scale = hn::Set(d, factor);
  const auto x0 = hn::Mul(scale, hn::LoadU(d, rows[0] + k));
  const auto x1 = hn::Mul(scale, hn::LoadU(d, rows[1] + k));
  const auto x2 = hn::Mul(scale, hn::LoadU(d, rows[2] + k));
  const auto x3 = hn::Mul(scale, hn::LoadU(d, rows[3] + k));
  store_transposed(d, x0, x1, x2, x3, to, unit);
}

HWY_INLINE void transpose_4x4(const double* const* rows, std::size_t k, double factor, double* to,
                              std::size_t unit) {
  const hn::FixedTag<double, 2> d;
  const auto scale = hn::Set(d, factor);
  for (std::size_t side = 0; side < 4; side += 2) {
    for (std::size_t column = 0; column < 4; column += 2) {
      const auto x0 = hn::Mul(scale, hn::LoadU(d, rows[side] + k + column));
      const auto x1 = hn::Mul(scale, hn::LoadU(d, rows[side + 1] + k + column));
      hn::StoreU(hn::InterleaveLower(d, x0, x1), d, to + column * unit + side);
      hn::StoreU(hn::InterleaveUpper(d, x0, x1), d, to + (column + 1) * unit + side);
    }
  }
}
#else
template <class T>
HWY_INLINE void transpose_4x4(const T* const* rows, std::size_t k, T factor, T* to,
                              std::size_t unit) {
  for (std::size_t column = 0; column < 4; ++column) {
    for (std::size_t r = 0; r < 4; ++r) to[column * unit + r] = factor * rows[r][k + column];
  }
}
#endif

// Packs rows of `width` numbers, times the factor, as panels [width,unit]: column j of panel p is
// row p·unit + j; columns beyond the last row are zeros. Panels are written in pieces that stay in
// the first-level cache until they are whole.
template <std::size_t unit, class T>
void pack_columns(const T* const* rows, std::size_t count, std::size_t width, T factor,
                  T* HWY_RESTRICT packed) {
  constexpr std::size_t piece = 64;
  for (std::size_t first = 0; first < count; first += unit) {
    for (std::size_t k = 0; k < width; k += piece) {
      const std::size_t end = k + piece < width ? k + piece : width;
      for (std::size_t j = 0; j < unit;) {
        const std::size_t row = first + j;
        T* to = packed + j;
        std::size_t at = k;
        if (j + 4 <= unit && row + 4 <= count) {
          for (; at + 4 <= end; at += 4) {
            transpose_4x4(rows + row, at, factor, to + at * unit, unit);
          }
          for (; at < end; ++at) {
            for (std::size_t r = 0; r < 4; ++r) to[at * unit + r] = factor * rows[row + r][at];
          }
          j += 4;
        } else {
          for (; at < end; ++at) to[at * unit] = row < count ? factor * rows[row][at] : T(0);
          ++j;
        }
      }
    }
    packed += unit * width;
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
