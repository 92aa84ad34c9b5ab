#include <cstddef>
#include <cstdint>

#include "kernels/matrix_product.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_product.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/block_formats_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

// Products of one row of W in blocks with all rows of x, each in four chains of sums, lane by lane.
// The numbers of W are those that widening makes, but never leave the registers.
template <class Format, std::size_t rows>
HWY_INLINE void multiply_row(const FewRowProduct<float>& product, Bytes block, float* sums) {
  const Numbers d;
  constexpr std::size_t chains = 4;
  hn::Vec<Numbers> chain[rows][chains];
  for (auto& row : chain) {
    for (auto& sum : row) sum = hn::Zero(d);
  }
  for_numbers<Format>(block, product.width / Format::elements,
                      [&](std::size_t first, std::size_t at, hn::Vec<Numbers> numbers) HWY_ATTR {
#pragma GCC unroll 3
                        for (std::size_t r = 0; r < rows; ++r) {
                          auto& sum = chain[r][at / lanes % chains];
                          sum = hn::MulAdd(hn::LoadU(d, product.x + r * product.width + first + at),
                                           numbers, sum);
                        }
                      });
  for (std::size_t r = 0; r < rows; ++r) {
    sums[r] = hn::GetLane(hn::SumOfLanes(
        d, hn::Add(hn::Add(chain[r][0], chain[r][1]), hn::Add(chain[r][2], chain[r][3]))));
  }
}

template <class Format, std::size_t rows>
void multiply_rows(const FewRowProduct<float>& product, const std::byte* const* w) {
  for (std::size_t j = 0; j < product.count; ++j) {
    float sums[rows];
    multiply_row<Format, rows>(product, reinterpret_cast<Bytes>(w[j]), sums);
    for (std::size_t r = 0; r < rows; ++r) {
      product.y[r * product.y_stride + j] =
          product.bias == nullptr ? sums[r] : sums[r] + product.bias[j];
    }
  }
}

template <class Format>
void multiply(const FewRowProduct<float>& product, const std::byte* const* w) {
  static_assert(few_product_rows == 3);
  if (product.rows == 1) return multiply_rows<Format, 1>(product, w);
  if (product.rows == 2) return multiply_rows<Format, 2>(product, w);
  multiply_rows<Format, 3>(product, w);
}

void block_rows(const FewRowProduct<float>& product, const std::byte* const* w) {
  switch (product.stored) {
    case StoredNumber::q4_0:
      return multiply<Q4_0>(product, w);
    case StoredNumber::q8_0:
      return multiply<Q8_0>(product, w);
    case StoredNumber::q4_k:
      return multiply<Q4_K>(product, w);
    case StoredNumber::q5_k:
      return multiply<Q5_K>(product, w);
    default:
      return multiply<Q6_K>(product, w);
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(block_rows);

void multiply_block_rows(const FewRowProduct<float>& product, const std::byte* const* w) noexcept {
  ATTN_OF_TARGET(block_rows)(product, w);
}

}  // namespace attn::kernels
#endif
