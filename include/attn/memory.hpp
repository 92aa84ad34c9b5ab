#pragma once

#include <cstddef>

namespace attn {

/// Keeps up to `bytes` bytes of freed tensors for tensors made later; 0, the default, keeps none.
/// Memory from the system must be cleared first, which can take longer than computing the elements.
/// Only blocks of 128 KB and more are kept, up to 512. When a new tensor fits in none, the oldest
/// ones are returned to the system, until what is kept and used is at most 1.5 times the most that
/// was in use at once.
void keep_freed_tensors(std::size_t bytes) noexcept;

}  // namespace attn
