#pragma once

#include <cstddef>

namespace attn {

/// Keeps up to `bytes` bytes of freed tensors for tensors made later; 0, the default, keeps none.
/// Memory from the system must be cleared first, which can take longer than computing the elements.
/// Only large blocks are kept, and all of them are returned to the system when a new tensor fits in
/// none, so that the memory in use at once does not grow.
void keep_freed_tensors(std::size_t bytes) noexcept;

}  // namespace attn
