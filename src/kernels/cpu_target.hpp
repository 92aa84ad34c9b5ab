#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace attn::kernels {

/// The instruction sets that this machine can run the kernels with, best first: "amx", "avx512",
/// "avx2", "sse4", "sse2" and "scalar" on x86, "neon" on ARM.
std::span<const std::string_view> cpu_targets() noexcept;

/// The instruction set in use.
std::string_view cpu_target() noexcept;

/// Whether "amx" is in use: AVX-512 and, where they help, matrix tiles.
bool uses_matrix_tiles() noexcept;

/// Makes all kernels use that instruction set from now on; an empty name means the best one.
/// Returns false and changes nothing if this machine has none of that name. Not to be called while
/// a kernel runs.
bool use_cpu_target(std::string_view name) noexcept;

/// Bytes of a core's second-level cache, which sizes of blocks follow; results do not depend on it.
/// 512 KB where the system does not tell.
std::size_t second_level_cache() noexcept;

/// Makes blocks follow another size from now on, or the processor's with 0: for tests. Not to be
/// called while a kernel runs.
void use_second_level_cache(std::size_t bytes) noexcept;

/// Runs 24 · `rounds` independent fused multiply-adds on registers and nothing else.
/// Returns the number of floating-point operations, two per lane and multiply-add.
double multiply_add_floats(std::size_t rounds) noexcept;
double multiply_add_doubles(std::size_t rounds) noexcept;

}  // namespace attn::kernels
