#include "tensor/block_numbers.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/row_functions.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

// Numbers are computed in the order of operations that llama.cpp's dequantize_row_… has, each
// rounded to a float (ggml/src/ggml-quants.c describes the formats). Kernels do so for the types
// that most checkpoints have.

using Bytes = const std::uint8_t*;

// A number of 16 bits that need not be aligned.
std::uint16_t bits_at(Bytes at) {
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

float half_at(Bytes at) {
  return float16_number(bits_at(at));
}

int low(std::uint8_t byte) {
  return byte & 0xF;
}
int high(std::uint8_t byte) {
  return byte >> 4;
}

void q4_1(Bytes block, float* to) {
  const float d = half_at(block), m = half_at(block + 2);
  const Bytes q = block + 4;
  for (std::size_t j = 0; j < 16; ++j) {
    to[j] = static_cast<float>(low(q[j])) * d + m;
    to[j + 16] = static_cast<float>(high(q[j])) * d + m;
  }
}

// The fifth bits of 32 numbers.
std::uint32_t fifth_bits(Bytes at) {
  return bits_at(at) | static_cast<std::uint32_t>(bits_at(at + 2)) << 16U;
}

void q5_0(Bytes block, float* to) {
  const float d = half_at(block);
  const std::uint32_t fifth = fifth_bits(block + 2);
  const Bytes q = block + 6;
  for (std::size_t j = 0; j < 16; ++j) {
    const int first = low(q[j]) | static_cast<int>(fifth >> j & 1U) << 4;
    const int second = high(q[j]) | static_cast<int>(fifth >> (j + 16) & 1U) << 4;
    to[j] = static_cast<float>(first - 16) * d;
    to[j + 16] = static_cast<float>(second - 16) * d;
  }
}

void q5_1(Bytes block, float* to) {
  const float d = half_at(block), m = half_at(block + 2);
  const std::uint32_t fifth = fifth_bits(block + 4);
  const Bytes q = block + 8;
  for (std::size_t j = 0; j < 16; ++j) {
    const int first = low(q[j]) | static_cast<int>(fifth >> j & 1U) << 4;
    const int second = high(q[j]) | static_cast<int>(fifth >> (j + 16) & 1U) << 4;
    to[j] = static_cast<float>(first) * d + m;
    to[j + 16] = static_cast<float>(second) * d + m;
  }
}

void q2_k(Bytes block, float* to) {
  const Bytes scales = block, q = block + 16;
  const float d = half_at(block + 80), m = half_at(block + 82);
  for (std::size_t group = 0; group < 16; ++group) {
    // Groups of 16: two share 32 bytes and two bits, four pairs share the bytes.
    const float scale = d * static_cast<float>(low(scales[group]));
    const float least = m * static_cast<float>(high(scales[group]));
    const Bytes own = q + group / 8 * 32 + group % 2 * 16;
    const std::size_t shift = group % 8 / 2 * 2;
    for (std::size_t l = 0; l < 16; ++l) {
      to[group * 16 + l] = scale * static_cast<float>(own[l] >> shift & 3) - least;
    }
  }
}

void q3_k(Bytes block, float* to) {
  const Bytes high_bits = block, q = block + 32, scales = block + 96;
  const float d = half_at(block + 108);
  for (std::size_t group = 0; group < 16; ++group) {
    const int four = group < 8 ? low(scales[group]) : high(scales[group - 8]);
    const int two = scales[8 + group % 4] >> (group / 4 * 2) & 3;
    const float scale = d * static_cast<float>((four | two << 4) - 32);
    const Bytes own = q + group / 8 * 32 + group % 2 * 16;
    const Bytes bits = high_bits + group % 2 * 16;
    const std::size_t shift = group % 8 / 2 * 2, bit = group / 2;
    for (std::size_t l = 0; l < 16; ++l) {
      const int number = (own[l] >> shift & 3) - ((bits[l] >> bit & 1) != 0 ? 0 : 4);
      to[group * 16 + l] = scale * static_cast<float>(number);
    }
  }
}

constexpr std::array<std::int8_t, 16> uneven_steps{-127, -104, -83, -65, -49, -35, -22, -10,
                                                   1,    13,   25,  38,  53,  69,  89,  113};

// Sixteen bytes of numbers of a table: elements 0 to 15, and 16 to 31.
void table_numbers(const std::array<std::int8_t, 16>& table, Bytes q, float scale, float* to) {
  for (std::size_t j = 0; j < 16; ++j) {
    to[j] = scale * static_cast<float>(table[static_cast<std::size_t>(low(q[j]))]);
    to[j + 16] = scale * static_cast<float>(table[static_cast<std::size_t>(high(q[j]))]);
  }
}

void iq4_nl(Bytes block, float* to) {
  table_numbers(uneven_steps, block + 2, half_at(block), to);
}

void iq4_xs(Bytes block, float* to) {
  const float d = half_at(block);
  const unsigned highs = bits_at(block + 2);
  const Bytes lows = block + 4;
  for (std::size_t group = 0; group < 8; ++group) {
    const int four = lows[group / 2] >> (group % 2 * 4) & 0xF;
    const int two = static_cast<int>(highs >> 2 * group & 3U);
    const float scale = d * static_cast<float>((four | two << 4) - 32);
    table_numbers(uneven_steps, block + 8 + 16 * group, scale, to + 32 * group);
  }
}

void mxfp4(Bytes block, float* to) {
  // 2^(e − 128), of which the first two are subnormal.
  const std::uint32_t e = block[0];
  const float scale = std::bit_cast<float>(e < 2 ? std::uint32_t{0x00200000} << e : (e - 1) << 23U);
  table_numbers(twice_e2m1, block + 1, scale, to);
}

template <void (*numbers)(Bytes block, float* to), std::size_t elements, std::size_t bytes>
constexpr BlockForm block_form(std::string_view name) {
  return {name, elements, bytes, [](const std::byte* from, std::size_t blocks, float* to) {
            for (std::size_t i = 0; i < blocks; ++i) {
              numbers(reinterpret_cast<Bytes>(from) + i * bytes, to + i * elements);
            }
          }};
}

constexpr std::array<BlockForm, 13> forms{{{"Q4_0", 32, 18, kernels::widen_q4_0},
                                           block_form<q4_1, 32, 20>("Q4_1"),
                                           block_form<q5_0, 32, 22>("Q5_0"),
                                           block_form<q5_1, 32, 24>("Q5_1"),
                                           {"Q8_0", 32, 34, kernels::widen_q8_0},
                                           block_form<q2_k, 256, 84>("Q2_K"),
                                           block_form<q3_k, 256, 110>("Q3_K"),
                                           {"Q4_K", 256, 144, kernels::widen_q4_k},
                                           {"Q5_K", 256, 176, kernels::widen_q5_k},
                                           {"Q6_K", 256, 210, kernels::widen_q6_k},
                                           block_form<iq4_nl, 32, 18>("IQ4_NL"),
                                           block_form<iq4_xs, 256, 136>("IQ4_XS"),
                                           block_form<mxfp4, 32, 17>("MXFP4")}};

}  // namespace

const BlockForm& form(BlockType type) noexcept {
  return forms[static_cast<std::size_t>(type)];
}

namespace {

std::array<float, 256> table(int digits, int bias, bool infinities) {
  std::array<float, 256> numbers{};
  const int exponents = 7 - digits, last = (1 << exponents) - 1, ones = (1 << digits) - 1;
  for (int byte = 0; byte < 256; ++byte) {
    const int exponent = byte >> digits & last, fraction = byte & ones;
    // Subnormal numbers have the step of the first normal ones.
    float number = exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - bias - digits)
                                 : std::ldexp(static_cast<float>(fraction + ones + 1),
                                              exponent - bias - digits);
    if (exponent == last && infinities) {
      number = fraction == 0 ? std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == last && fraction == ones) {
      number = std::numeric_limits<float>::quiet_NaN();
    }
    numbers[static_cast<std::size_t>(byte)] = byte < 128 ? number : -number;
  }
  return numbers;
}

}  // namespace

const std::array<float, 256>& byte_numbers(ByteNumber type) noexcept {
  static const std::array<float, 256> e4m3 = table(3, 7, false), e5m2 = table(2, 15, true);
  return type == ByteNumber::e4m3 ? e4m3 : e5m2;
}

}  // namespace attn
