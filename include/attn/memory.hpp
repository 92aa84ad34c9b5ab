#pragma once

#include <cstddef>

namespace attn {

/// Memory of freed tensors is kept for the next ones from now on, up to so many bytes in all, where
/// the system would clear its pages again: that takes longer than computing some of them. Only
/// large tensors are kept, and all are given back as soon as one is made that none of them fits, so
/// that nothing more is ever in use at once. 0, as without this call, keeps none.
void keep_freed_tensors(std::size_t bytes) noexcept;

}  // namespace attn
