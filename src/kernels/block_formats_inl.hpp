// Numbers stored in blocks of a few bits with a common scale, as vectors. Compiled once for each
// CPU target.

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(ATTN_KERNELS_BLOCK_FORMATS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTN_KERNELS_BLOCK_FORMATS_INL
#undef ATTN_KERNELS_BLOCK_FORMATS_INL
#else
#define ATTN_KERNELS_BLOCK_FORMATS_INL
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

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

// scale · whole − least.
HWY_INLINE hn::Vec<Numbers> number(hn::Vec<Whole> whole, float scale, float least) {
  const Numbers d;
  return hn::MulSub(hn::Set(d, scale), hn::ConvertTo(d, whole), hn::Set(d, least));
}
HWY_INLINE hn::Vec<Numbers> number(hn::Vec<Whole> whole, float scale) {
  const Numbers d;
  return hn::Mul(hn::ConvertTo(d, whole), hn::Set(d, scale));
}

// scale · byte for each of `count` bytes, a multiple of eight.
template <std::size_t count, class Byte>
HWY_INLINE void scale_bytes(const Byte* bytes, float scale, float* to) {
  const hn::CappedTag<float, 8> d;
  const hn::RebindToSigned<decltype(d)> whole;
  for (std::size_t i = 0; i < count; i += hn::MaxLanes(d)) {
    const auto wide = hn::PromoteTo(whole, hn::LoadU(hn::Rebind<Byte, decltype(d)>(), bytes + i));
    hn::StoreU(hn::Mul(hn::ConvertTo(d, wide), hn::Set(d, scale)), d, to + i);
  }
}

// Each format reads the scales of a block, and hands on the vectors of its numbers, put(first,
// numbers), in an order in which numbers that are `lanes` · 4 apart follow each other. Scales of
// several blocks are read before their numbers, which would wait for them.

// The scale of a block's first two bytes.
struct BlockScale {
  float scale;

  HWY_INLINE void read(Bytes block) { scale = half_at(block); }
};

struct Q4_0 {
  static constexpr std::size_t elements = 32, bytes = 18;
  using Scales = BlockScale;
  template <class Put>
  static HWY_INLINE void numbers(Bytes block, const Scales& of, const Put& put) {
    const auto middle = hn::Set(Whole(), 8);
#pragma GCC unroll 16
    for (std::size_t j = 0; j < 16; j += lanes) {
      const auto both = bytes_at(block + 2 + j);
      put(j, number(hn::Sub(low(both), middle), of.scale));
      put(j + 16, number(hn::Sub(high(both), middle), of.scale));
    }
  }
};

struct Q8_0 {
  static constexpr std::size_t elements = 32, bytes = 34;
  using Scales = BlockScale;
  template <class Put>
  static HWY_INLINE void numbers(Bytes block, const Scales& of, const Put& put) {
    const Whole d;
    const hn::Rebind<std::int8_t, Whole> stored;
    const auto* const own = reinterpret_cast<const std::int8_t*>(block + 2);
#pragma GCC unroll 32
    for (std::size_t j = 0; j < 32; j += lanes) {
      put(j, number(hn::PromoteTo(d, hn::LoadU(stored, own + j)), of.scale));
    }
  }
};

// Scale and least number of the eight groups of 32, six bits each in twelve bytes.
struct GroupScales {
  float scale[8], least[8];

  HWY_INLINE void read(Bytes block) {
    std::uint32_t words[3], own[2], leasts[2];
    std::memcpy(words, block + 4, sizeof words);
    own[0] = words[0] & 0x3F3F3F3F;
    leasts[0] = words[1] & 0x3F3F3F3F;
    own[1] = (words[2] & 0x0F0F0F0F) | ((words[0] >> 6 & 0x03030303) << 4);
    leasts[1] = (words[2] >> 4 & 0x0F0F0F0F) | ((words[1] >> 6 & 0x03030303) << 4);
    scale_bytes<8>(reinterpret_cast<Bytes>(own), half_at(block), scale);
    scale_bytes<8>(reinterpret_cast<Bytes>(leasts), half_at(block + 2), least);
  }
};

struct Q4_K {
  static constexpr std::size_t elements = 256, bytes = 144;
  using Scales = GroupScales;
  template <class Put>
  static HWY_INLINE void numbers(Bytes block, const Scales& of, const Put& put) {
    for (std::size_t group = 0; group < 8; group += 2) {
      const Bytes own = block + 16 + 16 * group;
#pragma GCC unroll 32
      for (std::size_t l = 0; l < 32; l += lanes) {
        const auto both = bytes_at(own + l);
        put(32 * group + l, number(low(both), of.scale[group], of.least[group]));
        put(32 * group + 32 + l, number(high(both), of.scale[group + 1], of.least[group + 1]));
      }
    }
  }
};

struct Q5_K {
  static constexpr std::size_t elements = 256, bytes = 176;
  using Scales = GroupScales;
  template <class Put>
  static HWY_INLINE void numbers(Bytes block, const Scales& of, const Put& put) {
    const auto fifth = hn::Set(Whole(), 16);
#pragma GCC unroll 32
    for (std::size_t l = 0; l < 32; l += lanes) {
      // Bit `group` of a byte is the fifth of a number of that group.
      auto bits = hn::ShiftLeft<4>(bytes_at(block + 16 + l));
      for (std::size_t group = 0; group < 8; group += 2) {
        const auto both = bytes_at(block + 48 + 16 * group + l);
        const std::size_t first = 32 * group + l;
        put(first,
            number(hn::Or(low(both), hn::And(bits, fifth)), of.scale[group], of.least[group]));
        bits = hn::ShiftRight<1>(bits);
        put(first + 32, number(hn::Or(high(both), hn::And(bits, fifth)), of.scale[group + 1],
                               of.least[group + 1]));
        bits = hn::ShiftRight<1>(bits);
      }
    }
  }
};

struct Q6_K {
  static constexpr std::size_t elements = 256, bytes = 210;
  struct Scales {
    float scale[16];

    HWY_INLINE void read(Bytes block) {
      scale_bytes<16>(reinterpret_cast<const std::int8_t*>(block + 192), half_at(block + 208),
                      scale);
    }
  };
  template <class Put>
  static HWY_INLINE void numbers(Bytes block, const Scales& scales, const Put& put) {
    const auto middle = hn::Set(Whole(), 32), two = hn::Set(Whole(), 0x30);
    // Two halves of 128 numbers: 64 bytes hold their low bits, 32 the high bits, in four runs
    // of 32.
    for (std::size_t half = 0; half < 2; ++half) {
#pragma GCC unroll 32
      for (std::size_t l = 0; l < 32; l += lanes) {
        const auto first = bytes_at(block + 64 * half + l),
                   next = bytes_at(block + 64 * half + 32 + l);
        const auto highs = bytes_at(block + 128 + 32 * half + l);
        const float* const of = scales.scale + 8 * half + l / 16;
        const std::size_t own = 128 * half + l;
        const auto whole = [&](auto lows, auto bits) {
          return hn::Sub(hn::Or(lows, hn::And(bits, two)), middle);
        };
        put(own, number(whole(low(first), hn::ShiftLeft<4>(highs)), of[0]));
        put(own + 32, number(whole(low(next), hn::ShiftLeft<2>(highs)), of[2]));
        put(own + 64, number(whole(high(first), highs), of[4]));
        put(own + 96, number(whole(high(next), hn::ShiftRight<2>(highs)), of[6]));
      }
    }
  }
};

// Hands on the numbers of blocks that lie one after the other.
template <class Format, class Put>
HWY_INLINE void for_numbers(Bytes block, std::size_t blocks, const Put& put) {
  // Rows of weights are read a few at a time, with other work between, so that the processor does
  // not foresee the next blocks.
  constexpr std::size_t ahead = 2048, line = 64, at_once = 8;
  typename Format::Scales scales[at_once];
  for (std::size_t first = 0; first < blocks; first += at_once) {
    const std::size_t count = blocks - first < at_once ? blocks - first : at_once;
    for (std::size_t i = 0; i < count; ++i) scales[i].read(block + i * Format::bytes);
    for (std::size_t i = 0; i < count; ++i, block += Format::bytes) {
      for (std::size_t at = 0; at < Format::bytes; at += line) {
        hwy::Prefetch(block + ahead + at);
      }
      const std::size_t from = (first + i) * Format::elements;
      Format::numbers(block, scales[i], [&](std::size_t at, hn::Vec<Numbers> numbers) HWY_ATTR {
        put(from, at, numbers);
      });
    }
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
