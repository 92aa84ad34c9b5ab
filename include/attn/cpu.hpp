#pragma once

#include <span>
#include <string_view>

namespace attn {

/// The instruction sets of this machine that attn has code for, best first: "amx" (AVX-512 and
/// matrix tiles), "avx512", "avx2", "sse4", "scalar".
std::span<const std::string_view> cpu_targets() noexcept;

/// Computes with that one from now on; without this call, with the best. Throws Error(usage) naming
/// the known ones if this machine has none of that name. Not to be called during a computation.
void use_cpu_target(std::string_view name);

}  // namespace attn
