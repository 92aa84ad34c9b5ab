#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/matrix_product.hpp"

namespace attn {

/// Ways of storing numbers in blocks of a few bits each with a common scale (llama.cpp's ggml).
enum class BlockType : std::uint8_t {
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  mxfp4,
  iq1_s,
  iq1_m,
  iq2_xxs,
  iq2_xs,
  iq2_s,
  iq3_xxs,
  iq3_s,
  tq1_0,
  tq2_0,
  nvfp4,
};

struct BlockForm {
  std::string_view name;                ///< as ggml names it
  std::size_t elements = 0, bytes = 0;  ///< of a block
  /// Makes the numbers of `blocks` blocks that lie one after the other, bit for bit as ggml's own
  /// code does in single precision. `from` need not be aligned.
  void (*numbers)(const std::byte* from, std::size_t blocks, float* to) = nullptr;
  /// The type by which products of a few rows read them where they are stored, if they do.
  std::optional<kernels::StoredNumber> in_products = {};
};

const BlockForm& form(BlockType type) noexcept;

/// Rows of blocks in memory, one after the other.
struct BlockRows {
  const BlockForm* form = nullptr;
  const std::byte* first = nullptr;
  std::size_t blocks = 0;  ///< of a row

  const std::byte* row(std::size_t at) const { return first + at * blocks * form->bytes; }
};

/// The values of four-bit floating-point numbers (E2M1), twice as large.
inline constexpr std::array<std::int8_t, 16> twice_e2m1{0, 1,  2,  3,  4,  6,  8,  12,
                                                        0, -1, -2, -3, -4, -6, -8, -12};

/// Floating-point numbers of eight bits (Open Compute Project, OFP8): E4M3 has no infinities and
/// NaN at 0x7F and 0xFF alone, E5M2 is IEEE 754's with two digits.
enum class ByteNumber : std::uint8_t { e4m3, e5m2 };

/// The number of each byte.
const std::array<float, 256>& byte_numbers(ByteNumber type) noexcept;

}  // namespace attn
