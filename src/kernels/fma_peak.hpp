#pragma once

#include <cstddef>

namespace attn::kernels {

/// Does `rounds` times 24 independent fused multiply-adds on registers, and nothing else. Returns
/// the floating-point operations done, two a lane and multiply-add.
double multiply_add_floats(std::size_t rounds) noexcept;
double multiply_add_doubles(std::size_t rounds) noexcept;

}  // namespace attn::kernels
