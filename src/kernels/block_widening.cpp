#include <cstdint>
#include <cstring>

#include "kernels/row_functions.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/block_widening.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"
#include "kernels/vector_math_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ggml/src/ggml-quants.c of llama.cpp describes the formats. A number is the product of a scale of
// float16 (11 bits), of the scale of its group (up to 7 bits) and of the stored number (up to 8
// bits), in no format more than 24 bits together: products are exact in float, and a difference is
// rounded once, whether the processor fuses it or not.

using Bytes = const std::uint8_t*;

// Vectors of at most 16 numbers, of which groups of 16 or 32 are made.
using Numbers = hn::CappedTag<float, 16>;
using Whole = hn::Rebind<std::int32_t, Numbers>;
constexpr std::size_t lanes = hn::MaxLanes(Numbers());

HWY_INLINE float half_at(Bytes at) {
  std::uint16_t half;
  std::memcpy(&half, at, sizeof half);
  return hn::GetLane(float16_numbers(hn::CappedTag<float, 1>(), &half));
}

HWY_INLINE hn::Vec<Whole> bytes_at(Bytes at) {
  const Whole d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, Whole>(), at));
}

HWY_INLINE hn::Vec<Whole> low(hn::Vec<Whole> bytes) {
  return hn::And(bytes, hn::Set(Whole(), 0xF));
}
HWY_INLINE hn::Vec<Whole> high(hn::Vec<Whole> bytes) {
  return hn::ShiftRight<4>(bytes);
}

// Puts scale · whole − least.
HWY_INLINE void put(hn::Vec<Whole> whole, float scale, float least, float* to) {
  const Numbers d;
  const auto product = hn::Mul(hn::Set(d, scale), hn::ConvertTo(d, whole));
  hn::StoreU(hn::Sub(product, hn::Set(d, least)), d, to);
}
HWY_INLINE void put(hn::Vec<Whole> whole, float scale, float* to) {
  const Numbers d;
  hn::StoreU(hn::Mul(hn::ConvertTo(d, whole), hn::Set(d, scale)), d, to);
}

HWY_INLINE void q4_0(Bytes block, float* to) {
  const float scale = half_at(block);
  const auto middle = hn::Set(Whole(), 8);
  for (std::size_t j = 0; j < 16; j += lanes) {
    const auto both = bytes_at(block + 2 + j);
    put(hn::Sub(low(both), middle), scale, to + j);
    put(hn::Sub(high(both), middle), scale, to + j + 16);
  }
}

HWY_INLINE void q8_0(Bytes block, float* to) {
  const Whole d;
  const hn::Rebind<std::int8_t, Whole> stored;
  const float scale = half_at(block);
  const auto* const own = reinterpret_cast<const std::int8_t*>(block + 2);
  for (std::size_t j = 0; j < 32; j += lanes) {
    put(hn::PromoteTo(d, hn::LoadU(stored, own + j)), scale, to + j);
  }
}

// Scale and least number of the eight groups of 32, six bits each in twelve bytes.
struct GroupScales {
  float scale[8], least[8];

  HWY_INLINE explicit GroupScales(Bytes block) {
    const float d = half_at(block), m = half_at(block + 2);
    const Bytes at = block + 4;
    for (std::size_t group = 0; group < 4; ++group) {
      scale[group] = d * static_cast<float>(at[group] & 63);
      least[group] = m * static_cast<float>(at[group + 4] & 63);
      scale[group + 4] = d * static_cast<float>((at[group + 8] & 0xF) | at[group] >> 6 << 4);
      least[group + 4] = m * static_cast<float>(at[group + 8] >> 4 | at[group + 4] >> 6 << 4);
    }
  }
};

HWY_INLINE void q4_k(Bytes block, float* to) {
  const GroupScales of(block);
  for (std::size_t group = 0; group < 8; group += 2) {
    const Bytes own = block + 16 + 16 * group;
    float* const first = to + 32 * group;
    for (std::size_t l = 0; l < 32; l += lanes) {
      const auto both = bytes_at(own + l);
      put(low(both), of.scale[group], of.least[group], first + l);
      put(high(both), of.scale[group + 1], of.least[group + 1], first + l + 32);
    }
  }
}

HWY_INLINE void q5_k(Bytes block, float* to) {
  const GroupScales of(block);
  const Whole d;
  const auto fifth = hn::Set(d, 16);
  for (std::size_t l = 0; l < 32; l += lanes) {
    // Bit `group` of a byte is the fifth of a number of that group.
    auto bits = hn::ShiftLeft<4>(bytes_at(block + 16 + l));
    for (std::size_t group = 0; group < 8; group += 2) {
      const auto both = bytes_at(block + 48 + 16 * group + l);
      float* const first = to + 32 * group + l;
      put(hn::Or(low(both), hn::And(bits, fifth)), of.scale[group], of.least[group], first);
      bits = hn::ShiftRight<1>(bits);
      put(hn::Or(high(both), hn::And(bits, fifth)), of.scale[group + 1], of.least[group + 1],
          first + 32);
      bits = hn::ShiftRight<1>(bits);
    }
  }
}

HWY_INLINE void q6_k(Bytes block, float* to) {
  const float d = half_at(block + 208);
  const auto middle = hn::Set(Whole(), 32), two = hn::Set(Whole(), 0x30);
  float scale[16];
  for (std::size_t group = 0; group < 16; ++group) {
    scale[group] = d * static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
  }
  // Two halves of 128 numbers: 64 bytes hold their low bits, 32 the high bits, in four runs of 32.
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t l = 0; l < 32; l += lanes) {
      const auto first = bytes_at(block + 64 * half + l),
                 next = bytes_at(block + 64 * half + 32 + l);
      const auto highs = bytes_at(block + 128 + 32 * half + l);
      const float* const of = scale + 8 * half + l / 16;
      float* const own = to + 128 * half + l;
      const auto number = [&](auto lows, auto bits) {
        return hn::Sub(hn::Or(lows, hn::And(bits, two)), middle);
      };
      put(number(low(first), hn::ShiftLeft<4>(highs)), of[0], own);
      put(number(low(next), hn::ShiftLeft<2>(highs)), of[2], own + 32);
      put(number(high(first), highs), of[4], own + 64);
      put(number(high(next), hn::ShiftRight<2>(highs)), of[6], own + 96);
    }
  }
}

template <std::size_t elements, std::size_t bytes, class Widen>
HWY_INLINE void for_blocks(const std::byte* from, std::size_t blocks, float* to,
                           const Widen& widen) {
  // Rows of weights are widened a few at a time, with their products between (multiply_part() of
  // attention/linear.cpp), so that the processor does not foresee the next blocks.
  constexpr std::size_t ahead = 2048, line = 64;
  for (std::size_t i = 0; i < blocks; ++i) {
    const Bytes block = reinterpret_cast<Bytes>(from) + i * bytes;
    for (std::size_t at = 0; at < bytes; at += line) hwy::Prefetch(block + ahead + at);
    widen(block, to + i * elements);
  }
}

void q4_0_blocks(const std::byte* from, std::size_t blocks, float* to) {
  for_blocks<32, 18>(from, blocks, to, [](Bytes block, float* own) { q4_0(block, own); });
}
void q8_0_blocks(const std::byte* from, std::size_t blocks, float* to) {
  for_blocks<32, 34>(from, blocks, to, [](Bytes block, float* own) { q8_0(block, own); });
}
void q4_k_blocks(const std::byte* from, std::size_t blocks, float* to) {
  for_blocks<256, 144>(from, blocks, to, [](Bytes block, float* own) { q4_k(block, own); });
}
void q5_k_blocks(const std::byte* from, std::size_t blocks, float* to) {
  for_blocks<256, 176>(from, blocks, to, [](Bytes block, float* own) { q5_k(block, own); });
}
void q6_k_blocks(const std::byte* from, std::size_t blocks, float* to) {
  for_blocks<256, 210>(from, blocks, to, [](Bytes block, float* own) { q6_k(block, own); });
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
