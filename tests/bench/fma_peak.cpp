#include "bench/fma_peak.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "kernels/cpu_target.hpp"
#include "support/parallel_for.hpp"

namespace attn::bench {

template <class T>
double fma_peak(std::size_t threads) {
  constexpr std::size_t rounds = 1000000;
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    std::vector<double> operations(threads);
    const auto start = std::chrono::steady_clock::now();
    parallel_for(threads, threads, [&](std::size_t i) {
      operations[i] = sizeof(T) == sizeof(float) ? kernels::multiply_add_floats(rounds)
                                                 : kernels::multiply_add_doubles(rounds);
    });
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best =
        std::max(best, std::accumulate(operations.begin(), operations.end(), 0.0) / taken.count());
  }
  return best * 1e-9;
}

template double fma_peak<float>(std::size_t threads);
template double fma_peak<double>(std::size_t threads);

void report_rate(benchmark::State& state, double operations, double peak) {
  using benchmark::Counter;
  const double runs = static_cast<double>(state.iterations());
  state.counters["GFLOP/s"] = Counter(runs * operations * 1e-9, Counter::kIsRate);
  state.counters["of_peak"] = Counter(runs * operations * 1e-9 / peak, Counter::kIsRate);
}

}  // namespace attn::bench
