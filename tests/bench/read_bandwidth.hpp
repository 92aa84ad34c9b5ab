#pragma once

#include <cstddef>

namespace attn::bench {

/// 10⁹ bytes a second that the threads read just now of so many bytes, again and again: from memory
/// where they outgrow the caches.
double read_bandwidth(std::size_t bytes, std::size_t threads);

}  // namespace attn::bench
