#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::bench {

/// What benchmarks mean by all cores from now on, where it is not 0.
void set_all_threads(std::size_t count) noexcept;

/// The number of threads that a benchmark's argument means: 0 = all cores.
std::size_t threads(std::int64_t argument) noexcept;

}  // namespace attn::bench
