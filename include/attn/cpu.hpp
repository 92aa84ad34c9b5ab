#pragma once

#include <span>
#include <string_view>

namespace attn {

/// Instruction sets of this machine that the library has code for, fastest first: "amx" (AVX-512
/// and matrix tiles), "avx512", "avx2", "sse4", "scalar".
std::span<const std::string_view> cpu_targets() noexcept;

/// Sets the instruction set of later computations; the default is the fastest. Throws Error(usage)
/// with the known names if this machine has none of that name. Must not be called during a
/// computation.
void use_cpu_target(std::string_view name);

}  // namespace attn
