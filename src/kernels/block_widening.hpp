#pragma once

#include <cstddef>

// Numbers stored in blocks of a few bits with a common scale (llama.cpp's ggml), made floats: the
// types that most checkpoints have. tensor/block_numbers.hpp lists all types with their sizes.

namespace attn::kernels {

/// Make the numbers of `blocks` blocks that lie one after the other; `from` need not be aligned.
/// Blocks of 32 numbers in 18 and 34 bytes.
void widen_q4_0(const std::byte* from, std::size_t blocks, float* to) noexcept;
void widen_q8_0(const std::byte* from, std::size_t blocks, float* to) noexcept;
/// Blocks of 256 numbers in 144, 176 and 210 bytes.
void widen_q4_k(const std::byte* from, std::size_t blocks, float* to) noexcept;
void widen_q5_k(const std::byte* from, std::size_t blocks, float* to) noexcept;
void widen_q6_k(const std::byte* from, std::size_t blocks, float* to) noexcept;

}  // namespace attn::kernels
