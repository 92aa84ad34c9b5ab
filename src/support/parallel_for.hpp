#pragma once

#include <cstddef>
#include <functional>

namespace attn {

/// The number of threads that is meant by `wanted`: 0 = as many as the machine has.
std::size_t thread_count(std::size_t wanted) noexcept;

/// Calls task(i) once for each i in 0…count−1 on up to thread_count(threads) threads, the calling
/// one among them. An exception of a task ends the others' taking of new ones and is thrown again
/// here.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& task);

/// Calls `here` on the calling thread, and `beside` at the same time on another where fewer than
/// thread_count(threads) work, otherwise afterwards. The exception of one of them is thrown again
/// when both have ended; where `here` throws, `beside` may not have been called.
void run_beside(std::size_t threads, const std::function<void()>& here,
                const std::function<void()>& beside);

}  // namespace attn
