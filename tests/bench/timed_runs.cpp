#include "bench/timed_runs.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/fma_peak.hpp"

namespace attn::bench {

double time_runs(benchmark::State& state, std::size_t threads, double operations,
                 const std::function<void()>& run) {
  const double before = fma_peak<float>(threads);
  run();
  std::vector<double> seconds;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    seconds.push_back(taken.count());
  }
  const double peak = std::max(before, fma_peak<float>(threads));
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  state.counters["seconds"] = *middle;
  state.counters["GFLOP/s"] = operations / *middle * 1e-9;
  state.counters["peak"] = peak;
  state.counters["of_peak"] = operations / *middle * 1e-9 / peak;
  return *middle;
}

}  // namespace attn::bench
