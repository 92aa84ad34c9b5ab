#include "bench/read_bandwidth.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "support/parallel_for.hpp"

// With narrow vectors one core would not ask for as much as its caches give.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ATTN_WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ATTN_WIDEST_VECTORS
#endif

namespace attn::bench {
namespace {

ATTN_WIDEST_VECTORS std::uint64_t sum_of(const std::uint64_t* numbers, std::size_t count) {
  constexpr std::size_t lanes = 64;
  std::uint64_t sums[lanes] = {};
  for (std::size_t i = 0; i + lanes <= count; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += numbers[i + lane];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t lane : sums) sum += lane;
  return sum;
}

}  // namespace

double read_bandwidth(std::size_t bytes, std::size_t threads) {
  constexpr std::size_t least_bytes = std::size_t{1} << 30U;
  const std::size_t part = bytes / sizeof(std::uint64_t) / threads;
  const std::vector<std::uint64_t> numbers(part * threads, 1);
  const std::size_t passes =
      std::max<std::size_t>(2, least_bytes / std::max<std::size_t>(bytes, 1));
  double best = 0;
  for (int run = 0; run < 3; ++run) {
    const auto start = std::chrono::steady_clock::now();
    parallel_for(threads, threads, [&](std::size_t i) {
      for (std::size_t pass = 0; pass < passes; ++pass) {
        benchmark::DoNotOptimize(sum_of(numbers.data() + i * part, part));
        benchmark::ClobberMemory();
      }
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(passes) *
                              static_cast<double>(numbers.size() * sizeof(std::uint64_t)) /
                              taken.count());
  }
  return best * 1e-9;
}

}  // namespace attn::bench
