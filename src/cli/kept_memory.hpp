#pragma once

namespace attn::cli {

/// The system clears every page that it gives to a process. Freed blocks up to 14 MB are kept for
/// the next ones instead of given back, as long as no more than 256 MB at the end of the heap are
/// unused, and 256 MB of tensors that are larger: layers one after the other write to the same
/// memory. A program decides that at its start; the library does not do it to the programs that use
/// it.
void keep_freed_memory() noexcept;

/// The same for blocks of any size and number: for timings, which repeat one computation.
void keep_all_freed_memory() noexcept;

}  // namespace attn::cli
