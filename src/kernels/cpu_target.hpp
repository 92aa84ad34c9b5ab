#pragma once

#include <span>
#include <string_view>

namespace attn::kernels {

/// The instruction sets this machine can run the kernels with, best first: "amx", "avx512", "avx2",
/// "sse4", "sse2" and "scalar" of x86, "neon" of ARM.
std::span<const std::string_view> cpu_targets() noexcept;

/// The one in use.
std::string_view cpu_target() noexcept;

/// Whether "amx" is in use: AVX-512 and, where they help, matrix tiles.
bool uses_matrix_tiles() noexcept;

/// Makes all kernels use that instruction set from now on; an empty name means the best one.
/// Returns false and changes nothing if this machine has none of that name. Not to be called while
/// a kernel runs.
bool use_cpu_target(std::string_view name) noexcept;

}  // namespace attn::kernels
