#pragma once

#include <cstddef>
#include <functional>

namespace attn {

/// Number of threads for a request of `wanted`: the machine's number for 0.
std::size_t thread_count(std::size_t wanted) noexcept;

/// Calls task(i) once for each i in 0…count−1 on up to thread_count(threads) threads, including the
/// calling one. After an exception of a task no new task begins, and the exception is thrown again
/// here.
void parallel_for(std::size_t count, std::size_t threads,
                  const std::function<void(std::size_t)>& task);

/// Calls `here` on the calling thread and `beside` at the same time on another one, or afterwards
/// if thread_count(threads) threads work already. An exception of either is thrown again when both
/// have ended; if `here` throws, `beside` may not have been called.
void run_beside(std::size_t threads, const std::function<void()>& here,
                const std::function<void()>& beside);

}  // namespace attn
