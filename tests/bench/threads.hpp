#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::bench {

/// Sets the number of threads that benchmarks take for all cores; 0 = the machine's.
void set_all_threads(std::size_t count) noexcept;

/// The number of threads that a benchmark's argument means: 0 = all cores.
std::size_t threads(std::int64_t argument) noexcept;

}  // namespace attn::bench
