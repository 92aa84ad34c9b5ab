#pragma once

#include <cstddef>
#include <functional>

#include <benchmark/benchmark.h>

namespace attn::bench {

/// Runs it once so that caches and clock rates settle, then as often as the benchmark asks. Reports
/// the rate of `operations` a run at the median of the runs ("seconds"), the peak of multiply-adds
/// of floats on as many threads, measured before and after, and the rate's part of it. Gives the
/// median in seconds.
double time_runs(benchmark::State& state, std::size_t threads, double operations,
                 const std::function<void()>& run);

}  // namespace attn::bench
