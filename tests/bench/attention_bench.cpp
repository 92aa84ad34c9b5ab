#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include "attn/attention.hpp"

#include "bench/fma_peak.hpp"
#include "bench/threads.hpp"

namespace {

attn::Tensor numbers(const attn::Shape& shape, std::size_t step) {
  std::vector<float> result(attn::element_count(shape));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<float>(i * step % 1009) / 1009.0F - 0.5F;
  }
  return {shape, std::move(result)};
}

// Samples, heads, length, width, whether causal, whether with weights, threads (0 = all cores).
void attention(benchmark::State& state) {
  const auto size = [&](int i) { return static_cast<std::size_t>(state.range(i)); };
  const attn::Shape shape{size(0), size(1), size(2), size(3)};
  attn::AttentionRequest request;
  request.score =
      attn::ScaledDotProduct{{numbers(shape, 7919), numbers(shape, 6841), numbers(shape, 7691)}};
  request.mask.causal = size(4) != 0;
  request.weights = size(5) != 0;
  request.threads = attn::bench::threads(state.range(6));
  const double peak = attn::bench::fma_peak<float>(request.threads);
  for (auto _ : state) {
    benchmark::DoNotOptimize(attn::attend(request));
  }
  const double pairs = static_cast<double>(shape[0] * shape[1]) * static_cast<double>(shape[2]) *
                       static_cast<double>(shape[2]);
  attn::bench::report_rate(
      state, (request.mask.causal ? 2 : 4) * pairs * static_cast<double>(shape[3]), peak);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"samples", "heads", "length", "width", "causal", "weights", "threads"})
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  for (const int threads : {0, 1}) {
    bench->Args({1, 12, 2048, 64, 0, 0, threads})
        ->Args({1, 12, 2048, 64, 1, 0, threads})
        ->Args({1, 12, 2048, 64, 0, 1, threads})
        ->Args({2, 8, 512, 64, 0, 0, threads})
        ->Args({8, 8, 192, 8, 0, 0, threads});
  }
}

BENCHMARK(attention)->Apply(sizes);

}  // namespace
