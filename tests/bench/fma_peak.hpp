#pragma once

#include <cstddef>

#include <benchmark/benchmark.h>

namespace attn::bench {

/// 10⁹ floating-point operations a second that multiply-adds on registers reach just now, T being
/// float or double.
template <class T>
double fma_peak(std::size_t threads);

/// Adds the rate of `operations` a run, and its part of the peak measured before the runs.
void report_rate(benchmark::State& state, double operations, double peak);

}  // namespace attn::bench
