#include <algorithm>
#include <cstring>

#include "kernels/matrix_product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/few_row_product.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/number_sizes_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A vector of stored numbers.
template <StoredNumber type, class D>
HWY_INLINE hn::Vec<D> load_stored(D d, const std::byte* at) {
  if constexpr (type == StoredNumber::bfloat16) {
    const hn::Rebind<std::uint16_t, D> halves;
    const hn::Rebind<std::uint32_t, D> words;
    const auto bits = hn::LoadU(halves, reinterpret_cast<const std::uint16_t*>(at));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(words, bits)));
  } else if constexpr (type == StoredNumber::float16) {
    return float16_numbers(d, reinterpret_cast<const std::uint16_t*>(at));
  } else {
    return hn::LoadU(d, reinterpret_cast<const hn::TFromD<D>*>(at));
  }
}

// The first `count` of a vector, with zeros behind them.
template <StoredNumber type, class D>
HWY_INLINE hn::Vec<D> load_first(D d, const std::byte* at, std::size_t count) {
  if constexpr (size_of(type) == sizeof(hn::TFromD<D>)) {
    return first_numbers(d, reinterpret_cast<const hn::TFromD<D>*>(at), count);
  } else {
    std::byte whole[hn::MaxLanes(d) * size_of(type)] = {};
    std::memcpy(whole, at, count * size_of(type));
    return load_stored<type>(d, whole);
  }
}

// Products of one row of W with all rows of x, each in four chains of sums, lane by lane.
template <StoredNumber type, std::size_t rows, class T>
HWY_INLINE void multiply_row(const FewRowProduct<T>& product, const std::byte* HWY_RESTRICT w,
                             T* sums) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t lanes = hn::MaxLanes(d), chains = 4;
  hn::Vec<decltype(d)> chain[rows][chains];
  for (auto& row : chain) {
    for (auto& sum : row) sum = hn::Zero(d);
  }
  std::size_t k = 0;
  for (; k + chains * lanes <= product.width; k += chains * lanes) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < chains; ++c) {
      const std::size_t at = k + c * lanes;
      const auto factor = load_stored<type>(d, w + at * size_of(type));
#pragma GCC unroll 3
      for (std::size_t r = 0; r < rows; ++r) {
        chain[r][c] =
            hn::MulAdd(hn::LoadU(d, product.x + r * product.width + at), factor, chain[r][c]);
      }
    }
  }
  for (; k < product.width; k += lanes) {
    const std::size_t left = std::min(lanes, product.width - k);
    const auto factor = load_first<type>(d, w + k * size_of(type), left);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto x = first_numbers(d, product.x + r * product.width + k, left);
      chain[r][0] = hn::MulAdd(x, factor, chain[r][0]);
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    sums[r] = hn::GetLane(hn::SumOfLanes(
        d, hn::Add(hn::Add(chain[r][0], chain[r][1]), hn::Add(chain[r][2], chain[r][3]))));
  }
}

template <StoredNumber type, std::size_t rows, class T>
void multiply_rows_of(const FewRowProduct<T>& product, const std::byte* const* w) {
  for (std::size_t j = 0; j < product.count; ++j) {
    T sums[rows];
    multiply_row<type, rows>(product, w[j], sums);
    for (std::size_t r = 0; r < rows; ++r) {
      product.y[r * product.y_stride + j] =
          product.bias == nullptr ? sums[r] : sums[r] + product.bias[j];
    }
  }
}

template <StoredNumber type, class T>
void multiply_stored_rows(const FewRowProduct<T>& product, const std::byte* const* w) {
  static_assert(few_product_rows == 3);
  if (product.rows == 1) return multiply_rows_of<type, 1>(product, w);
  if (product.rows == 2) return multiply_rows_of<type, 2>(product, w);
  multiply_rows_of<type, 3>(product, w);
}

// Adds the products of `depth` lines of W from k on, at most as many as are read at a time, to row
// r of y.
constexpr std::size_t lines_at_a_time = 4;

template <StoredNumber type, std::size_t depth>
void add_lines(const FewRowProduct<float>& product, const std::byte* w, std::size_t stride,
               std::size_t k, std::size_t r) {
  const hn::ScalableTag<float> d;
  constexpr std::size_t lanes = hn::MaxLanes(d);
  const float* x = product.x + r * product.width + k;
  float* HWY_RESTRICT y = product.y + r * product.y_stride;
  hn::Vec<decltype(d)> factor[depth];
  for (std::size_t i = 0; i < depth; ++i) factor[i] = hn::Set(d, x[i]);
  std::size_t j = 0;
  for (; j + lanes <= product.count; j += lanes) {
    auto sum = hn::LoadU(d, y + j);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < depth; ++i) {
      const std::byte* line = w + i * stride + j * size_of(type);
      // Lines are too far apart for the processor to foresee the next.
      hwy::Prefetch(line + 2 * lines_at_a_time * stride);
      sum = hn::MulAdd(factor[i], load_stored<type>(d, line), sum);
    }
    hn::StoreU(sum, d, y + j);
  }
  if (j == product.count) return;
  auto sum = first_numbers(d, y + j, product.count - j);
  for (std::size_t i = 0; i < depth; ++i) {
    const std::byte* line = w + i * stride + j * size_of(type);
    sum = hn::MulAdd(factor[i], load_first<type>(d, line, product.count - j), sum);
  }
  float whole[lanes];
  hn::StoreU(sum, d, whole);
  std::copy_n(whole, product.count - j, y + j);
}

template <StoredNumber type>
void multiply_stored_columns(const FewRowProduct<float>& product, const std::byte* w,
                             std::size_t stride) {
  for (std::size_t r = 0; r < product.rows; ++r) {
    float* const y = product.y + r * product.y_stride;
    if (product.bias == nullptr) {
      std::fill_n(y, product.count, 0.0F);
    } else {
      std::copy_n(product.bias, product.count, y);
    }
  }
  std::size_t k = 0;
  for (; k + lines_at_a_time <= product.width; k += lines_at_a_time) {
    for (std::size_t r = 0; r < product.rows; ++r) {
      add_lines<type, lines_at_a_time>(product, w + k * stride, stride, k, r);
    }
  }
  for (; k < product.width; ++k) {
    for (std::size_t r = 0; r < product.rows; ++r) {
      add_lines<type, 1>(product, w + k * stride, stride, k, r);
    }
  }
}

void few_rows_floats(const FewRowProduct<float>& product, const std::byte* const* w) {
  switch (product.stored) {
    case StoredNumber::bfloat16:
      return multiply_stored_rows<StoredNumber::bfloat16>(product, w);
    case StoredNumber::float16:
      return multiply_stored_rows<StoredNumber::float16>(product, w);
    default:
      return multiply_stored_rows<StoredNumber::float32>(product, w);
  }
}

void few_rows_doubles(const FewRowProduct<double>& product, const std::byte* const* w) {
  multiply_stored_rows<StoredNumber::float64>(product, w);
}

void few_columns_floats(const FewRowProduct<float>& product, const std::byte* w,
                        std::size_t stride) {
  switch (product.stored) {
    case StoredNumber::bfloat16:
      return multiply_stored_columns<StoredNumber::bfloat16>(product, w, stride);
    case StoredNumber::float16:
      return multiply_stored_columns<StoredNumber::float16>(product, w, stride);
    default:
      return multiply_stored_columns<StoredNumber::float32>(product, w, stride);
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(few_rows_floats);
ATTN_FOR_TARGETS(few_rows_doubles);
ATTN_FOR_TARGETS(few_columns_floats);

void multiply_few_rows(const FewRowProduct<float>& product, const std::byte* const* w) noexcept {
  if (in_blocks(product.stored)) return multiply_block_rows(product, w);
  ATTN_OF_TARGET(few_rows_floats)(product, w);
}

void multiply_few_rows(const FewRowProduct<double>& product, const std::byte* const* w) noexcept {
  ATTN_OF_TARGET(few_rows_doubles)(product, w);
}

void multiply_few_columns(const FewRowProduct<float>& product, const std::byte* w,
                          std::size_t stride) noexcept {
  ATTN_OF_TARGET(few_columns_floats)(product, w, stride);
}

}  // namespace attn::kernels
#endif
