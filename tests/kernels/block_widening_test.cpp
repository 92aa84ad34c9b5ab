#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/row_functions.hpp"
#include "tensor/block_numbers.hpp"
#include "tensor/half_number.hpp"

namespace {

using Bytes = const std::uint8_t*;

// The formats number by number, as ggml/src/ggml-quants.c of llama.cpp describes them.

float half_at(Bytes at) {
  return attn::float16_number(static_cast<std::uint16_t>(at[0] | at[1] << 8));
}
int low(std::uint8_t byte) {
  return byte & 0xF;
}
int high(std::uint8_t byte) {
  return byte >> 4;
}

void q4_0(Bytes block, float* to) {
  const float d = half_at(block);
  const Bytes q = block + 2;
  for (std::size_t j = 0; j < 16; ++j) {
    to[j] = static_cast<float>(low(q[j]) - 8) * d;
    to[j + 16] = static_cast<float>(high(q[j]) - 8) * d;
  }
}

void q8_0(Bytes block, float* to) {
  const float d = half_at(block);
  const Bytes q = block + 2;
  for (std::size_t j = 0; j < 32; ++j)
    to[j] = static_cast<float>(static_cast<std::int8_t>(q[j])) * d;
}

// Scale and least number of the eight groups of 32, six bits each.
struct SixBits {
  int scale, least;
};
SixBits six_bits(Bytes scales, std::size_t group) {
  if (group < 4) return {scales[group] & 63, scales[group + 4] & 63};
  return {low(scales[group + 4]) | scales[group - 4] >> 6 << 4,
          high(scales[group + 4]) | scales[group] >> 6 << 4};
}

void q4_k(Bytes block, float* to) {
  const float d = half_at(block), m = half_at(block + 2);
  const Bytes scales = block + 4;
  for (std::size_t pair = 0; pair < 4; ++pair) {
    const SixBits first = six_bits(scales, 2 * pair), second = six_bits(scales, 2 * pair + 1);
    const float first_scale = d * static_cast<float>(first.scale);
    const float first_least = m * static_cast<float>(first.least);
    const float second_scale = d * static_cast<float>(second.scale);
    const float second_least = m * static_cast<float>(second.least);
    const Bytes q = block + 16 + 32 * pair;
    float* own = to + 64 * pair;
    for (std::size_t l = 0; l < 32; ++l) {
      own[l] = first_scale * static_cast<float>(low(q[l])) - first_least;
    }
    for (std::size_t l = 0; l < 32; ++l) {
      own[l + 32] = second_scale * static_cast<float>(high(q[l])) - second_least;
    }
  }
}

void q5_k(Bytes block, float* to) {
  const float d = half_at(block), m = half_at(block + 2);
  const Bytes scales = block + 4, fifth = block + 16;
  for (std::size_t group = 0; group < 8; ++group) {
    const SixBits own = six_bits(scales, group);
    const float scale = d * static_cast<float>(own.scale),
                least = m * static_cast<float>(own.least);
    const Bytes q = block + 48 + 32 * (group / 2);
    for (std::size_t l = 0; l < 32; ++l) {
      const int number = (group % 2 == 0 ? low(q[l]) : high(q[l])) | (fifth[l] >> group & 1) << 4;
      to[32 * group + l] = scale * static_cast<float>(number) - least;
    }
  }
}

void q6_k(Bytes block, float* to) {
  const float d = half_at(block + 208);
  for (std::size_t group = 0; group < 16; ++group) {
    // Groups of 16: two are neighbours in the bytes, and four such pairs share the highest bits.
    const std::size_t half = group / 8, part = group / 2 % 4, right = group % 2 * 16;
    const Bytes lows = block + 64 * half + part % 2 * 32 + right;
    const Bytes highs = block + 128 + 32 * half + right;
    const float scale = d * static_cast<float>(static_cast<std::int8_t>(block[192 + group]));
    const std::size_t shift = part / 2 * 4, high_shift = 2 * part;
    for (std::size_t l = 0; l < 16; ++l) {
      const int number = (lows[l] >> shift & 0xF) | (highs[l] >> high_shift & 3) << 4;
      to[16 * group + l] = scale * static_cast<float>(number - 32);
    }
  }
}

// Random blocks. One scale in 16, at one of the places, is NaN, infinite or below the normal
// numbers.
std::vector<std::uint8_t> random_blocks(std::size_t blocks, std::size_t bytes,
                                        const std::vector<std::size_t>& scales, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> all(blocks * bytes);
  for (std::uint8_t& byte : all) byte = static_cast<std::uint8_t>(random());
  for (std::size_t i = 0; i < blocks; ++i) {
    for (const std::size_t at : scales) {
      constexpr std::array<std::uint16_t, 6> odd{0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x0001, 0x83FF};
      std::uint8_t *const lower = &all[i * bytes + at], *const upper = lower + 1;
      if (i % 16 == at % 16) {
        const std::uint16_t scale = odd[i / 16 % odd.size()];
        *lower = static_cast<std::uint8_t>(scale);
        *upper = static_cast<std::uint8_t>(scale >> 8U);
      } else if ((*upper & 0x7C) == 0x7C) {
        *upper ^= 0x40;
      }
    }
  }
  return all;
}

// Where the scales of float16 are in a block.
std::vector<std::size_t> scales_of(attn::BlockType type) {
  switch (type) {
    case attn::BlockType::q4_k:
    case attn::BlockType::q5_k:
      return {0, 2};
    case attn::BlockType::q6_k:
      return {208};
    default:
      return {0};
  }
}

}  // namespace

TEST_CASE("blocks of a few bits become the floats of their definition, bit for bit") {
  using attn::BlockType;
  struct Format {
    BlockType type;
    void (*numbers)(Bytes block, float* to);
  };
  const std::vector<Format> formats{{BlockType::q4_0, q4_0},
                                    {BlockType::q8_0, q8_0},
                                    {BlockType::q4_k, q4_k},
                                    {BlockType::q5_k, q5_k},
                                    {BlockType::q6_k, q6_k}};
  for (const Format& format : formats) {
    const attn::BlockForm& form = attn::form(format.type);
    CAPTURE(std::string(form.name));
    constexpr std::size_t blocks = 3000;
    const auto stored = random_blocks(blocks, form.bytes, scales_of(format.type), 1);
    std::vector<float> expected(blocks * form.elements);
    for (std::size_t i = 0; i < blocks; ++i)
      format.numbers(stored.data() + i * form.bytes, expected.data() + i * form.elements);
    attn::testing::on_every_target([&] {
      std::vector<float> numbers(expected.size() + 1, 7.0F);
      form.numbers(reinterpret_cast<const std::byte*>(stored.data()), blocks, numbers.data());
      std::size_t others = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        // NaN has many bits.
        const bool both = std::isnan(numbers[i]) && std::isnan(expected[i]);
        others += both || std::memcmp(&numbers[i], &expected[i], sizeof(float)) == 0 ? 0 : 1;
      }
      CHECK(others == 0);
      CHECK(numbers.back() == 7.0F);
    });
  }
}

TEST_CASE("products of a few rows with blocks are those with the floats of the blocks") {
  for (const attn::BlockType type :
       {attn::BlockType::q4_0, attn::BlockType::q8_0, attn::BlockType::q4_k, attn::BlockType::q5_k,
        attn::BlockType::q6_k}) {
    const attn::BlockForm& form = attn::form(type);
    CAPTURE(std::string(form.name));
    REQUIRE(form.in_products);
    for (const std::size_t blocks : {1, 7, 8, 9}) {
      // A row begins at an odd place. Scales of float16 are made normal, about 0.02.
      constexpr std::size_t count = 5, gap = 3;
      const std::size_t width = blocks * form.elements, bytes = blocks * form.bytes + gap;
      std::mt19937 random(7);
      std::vector<std::byte> stored(count * bytes + 1);
      for (std::byte& byte : stored) byte = static_cast<std::byte>(random());
      std::vector<const std::byte*> rows;
      std::vector<float> numbers(count * width);
      for (std::size_t j = 0; j < count; ++j) {
        std::byte* const row = stored.data() + j * bytes + 1;
        for (std::size_t i = 0; i < blocks; ++i) {
          for (const std::size_t at : scales_of(type)) {
            row[i * form.bytes + at + 1] = std::byte{0x25};
          }
        }
        form.numbers(row, blocks, numbers.data() + j * width);
        rows.push_back(row);
      }
      for (const std::size_t x_rows : {1, 2, 3}) {
        std::normal_distribution<float> normal;
        std::vector<float> x(x_rows * width), bias(count);
        for (float& number : x) number = normal(random);
        for (float& number : bias) number = normal(random);
        attn::testing::on_every_target([&] {
          std::vector<float> y(x_rows * (count + 1), 7.0F);
          attn::kernels::multiply_few_rows(
              attn::kernels::FewRowProduct<float>{x.data(), x_rows, width, *form.in_products, count,
                                                  bias.data(), y.data(), count + 1},
              rows.data());
          for (std::size_t r = 0; r < x_rows; ++r) {
            for (std::size_t j = 0; j < count; ++j) {
              double sum = bias[j], size = std::abs(bias[j]);
              for (std::size_t k = 0; k < width; ++k) {
                const double term = static_cast<double>(x[r * width + k]) * numbers[j * width + k];
                sum += term;
                size += std::abs(term);
              }
              // Each of at most `width` products and sums rounds by 2⁻²⁴ of the terms' size at
              // most.
              const double bound = static_cast<double>(width + 1) * 0x1p-24 * size;
              CHECK(std::abs(y[r * (count + 1) + j] - sum) <= bound);
            }
            CHECK(y[r * (count + 1) + count] == 7.0F);
          }
        });
      }
    }
  }
}
