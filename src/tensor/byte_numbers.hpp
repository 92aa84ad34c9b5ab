#pragma once

#include <array>
#include <cstdint>

namespace attn {

/// Floating-point numbers of eight bits (Open Compute Project, OFP8): E4M3 has no infinities and
/// NaN at 0x7F and 0xFF alone, E5M2 is IEEE 754's with two digits.
enum class ByteNumber : std::uint8_t { e4m3, e5m2 };

/// The number of each byte.
const std::array<float, 256>& byte_numbers(ByteNumber type) noexcept;

}  // namespace attn
