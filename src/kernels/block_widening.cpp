#include <cstddef>

#include "kernels/row_functions.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_widening.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/block_formats_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

template <class Format>
void widen(const std::byte* from, std::size_t blocks, float* HWY_RESTRICT to) {
  for_numbers<Format>(reinterpret_cast<Bytes>(from), blocks,
                      [&](std::size_t block, std::size_t at, hn::Vec<Numbers> numbers)
                          HWY_ATTR { hn::StoreU(numbers, Numbers(), to + block + at); });
}

void q4_0_blocks(const std::byte* from, std::size_t blocks, float* to) {
  widen<Q4_0>(from, blocks, to);
}
void q8_0_blocks(const std::byte* from, std::size_t blocks, float* to) {
  widen<Q8_0>(from, blocks, to);
}
void q4_k_blocks(const std::byte* from, std::size_t blocks, float* to) {
  widen<Q4_K>(from, blocks, to);
}
void q5_k_blocks(const std::byte* from, std::size_t blocks, float* to) {
  widen<Q5_K>(from, blocks, to);
}
void q6_k_blocks(const std::byte* from, std::size_t blocks, float* to) {
  widen<Q6_K>(from, blocks, to);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(q4_0_blocks);
ATTN_FOR_TARGETS(q8_0_blocks);
ATTN_FOR_TARGETS(q4_k_blocks);
ATTN_FOR_TARGETS(q5_k_blocks);
ATTN_FOR_TARGETS(q6_k_blocks);

void widen_q4_0(const std::byte* from, std::size_t blocks, float* to) noexcept {
  ATTN_OF_TARGET(q4_0_blocks)(from, blocks, to);
}
void widen_q8_0(const std::byte* from, std::size_t blocks, float* to) noexcept {
  ATTN_OF_TARGET(q8_0_blocks)(from, blocks, to);
}
void widen_q4_k(const std::byte* from, std::size_t blocks, float* to) noexcept {
  ATTN_OF_TARGET(q4_k_blocks)(from, blocks, to);
}
void widen_q5_k(const std::byte* from, std::size_t blocks, float* to) noexcept {
  ATTN_OF_TARGET(q5_k_blocks)(from, blocks, to);
}
void widen_q6_k(const std::byte* from, std::size_t blocks, float* to) noexcept {
  ATTN_OF_TARGET(q6_k_blocks)(from, blocks, to);
}

}  // namespace attn::kernels
#endif
