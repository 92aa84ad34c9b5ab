#include "bench/threads.hpp"

#include "support/parallel_for.hpp"

namespace attn::bench {
namespace {

std::size_t all_threads = 0;

}  // namespace

void set_all_threads(std::size_t count) noexcept {
  all_threads = count;
}

std::size_t threads(std::int64_t argument) noexcept {
  return thread_count(argument == 0 ? all_threads : static_cast<std::size_t>(argument));
}

}  // namespace attn::bench
