#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include "attn/attention.hpp"

#include "bench/threads.hpp"
#include "bench/timed_runs.hpp"

namespace {

attn::Tensor numbers(const attn::Shape& shape, std::size_t step) {
  std::vector<float> result(attn::element_count(shape));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<float>(i * step % 1009) / 1009.0F - 0.5F;
  }
  return {shape, std::move(result)};
}

// Samples, heads, key heads, length, width, whether causal, whether with weights, threads (0 = all
// cores).
void attention(benchmark::State& state) {
  const auto size = [&](int i) { return static_cast<std::size_t>(state.range(i)); };
  const std::size_t heads = size(1), length = size(3), width = size(4);
  const attn::Shape queries{size(0), heads, length, width}, keys{size(0), size(2), length, width};
  attn::AttentionRequest request;
  request.score =
      attn::ScaledDotProduct{{numbers(queries, 7919), numbers(keys, 6841), numbers(keys, 7691)}};
  request.mask.causal = size(5) != 0;
  request.weights = size(6) != 0;
  request.threads = attn::bench::threads(state.range(7));
  const std::size_t pairs = length * (request.mask.causal ? length + 1 : 2 * length) / 2;
  attn::bench::time_runs(state, request.threads,
                         4 * static_cast<double>(size(0) * heads * pairs * width),
                         [&] { benchmark::DoNotOptimize(attn::attend(request)); });
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench
      ->ArgNames(
          {"samples", "heads", "key_heads", "length", "width", "causal", "weights", "threads"})
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  for (const int threads : {0, 1}) {
    bench->Args({1, 12, 12, 2048, 64, 0, 0, threads})
        ->Args({1, 12, 12, 2048, 64, 1, 0, threads})
        ->Args({1, 12, 12, 2048, 64, 0, 1, threads})
        ->Args({1, 32, 8, 2048, 128, 0, 0, threads})
        ->Args({2, 8, 8, 512, 64, 0, 0, threads})
        ->Args({8, 8, 8, 192, 8, 0, 0, threads});
  }
}

BENCHMARK(attention)->Apply(sizes);

}  // namespace
