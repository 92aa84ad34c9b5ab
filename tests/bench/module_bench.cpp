#include <cmath>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "attn/attention.hpp"
#include "attn/layers.hpp"

#include "bench/read_bandwidth.hpp"
#include "bench/threads.hpp"
#include "bench/timed_runs.hpp"

namespace {

using attn::Shape;
using attn::Tensor;

// Numbers as a new layer of PyTorch has them: with them no score is large, and the attention stays
// in single precision.
class Numbers {
 public:
  Tensor tensor(const Shape& shape, float largest) {
    std::uniform_real_distribution<float> between(-largest, largest);
    std::vector<float> numbers(attn::element_count(shape));
    for (float& number : numbers) number = between(random_);
    return {shape, std::move(numbers)};
  }

  attn::Linear linear(std::size_t in, std::size_t out) {
    const float largest = 1 / std::sqrt(static_cast<float>(in));
    return {tensor({out, in}, largest), tensor({out}, largest)};
  }

  attn::Projections projections(std::size_t width) {
    attn::Projections layers;
    for (attn::Linear* layer : {&layers.query, &layers.key, &layers.value, &layers.output}) {
      *layer = linear(width, width);
    }
    return layers;
  }

 private:
  std::mt19937 random_;
};

std::size_t size(const benchmark::State& state, std::size_t at) {
  return static_cast<std::size_t>(state.range(at));
}

// Operations of the four Linear layers and the attention between them, two per multiply-add.
double operations_of_multi_head(double samples, double length, double width) {
  return samples * (8 * length * width * width + 4 * length * length * width);
}

// Samples, length, width, heads, threads (0 = all cores).
void multi_head(benchmark::State& state) {
  const std::size_t samples = size(state, 0), length = size(state, 1), width = size(state, 2);
  Numbers numbers;
  attn::ProjectedAttentionRequest request;
  request.states.query = numbers.tensor({samples, length, width}, 1);
  request.states.heads = size(state, 3);
  request.projections = numbers.projections(width);
  request.weights = false;
  request.threads = attn::bench::threads(state.range(4));
  attn::bench::time_runs(
      state, request.threads,
      operations_of_multi_head(static_cast<double>(samples), static_cast<double>(length),
                               static_cast<double>(width)),
      [&] { benchmark::DoNotOptimize(attn::attend_projected(request)); });
}

// Samples, length, width, heads, width of the feed-forward, threads (0 = all cores).
void encoder_layer(benchmark::State& state) {
  const std::size_t samples = size(state, 0), length = size(state, 1), width = size(state, 2),
                    wide = size(state, 4);
  Numbers numbers;
  attn::TransformerRequest request;
  request.x = numbers.tensor({samples, length, width}, 1);
  request.heads = size(state, 3);
  request.activation = attn::Activation::gelu;
  attn::TransformerLayer& layer = request.layers.emplace_back();
  layer.self_attn = numbers.projections(width);
  layer.linear1 = numbers.linear(width, wide);
  layer.linear2 = numbers.linear(wide, width);
  layer.norm1 = {numbers.tensor({width}, 1), numbers.tensor({width}, 1)};
  layer.norm2 = {numbers.tensor({width}, 1), numbers.tensor({width}, 1)};
  request.weights = false;
  request.threads = attn::bench::threads(state.range(5));
  const auto rows = static_cast<double>(samples * length);
  attn::bench::time_runs(
      state, request.threads,
      operations_of_multi_head(static_cast<double>(samples), static_cast<double>(length),
                               static_cast<double>(width)) +
          4 * rows * static_cast<double>(width) * static_cast<double>(wide),
      [&] { benchmark::DoNotOptimize(attn::transform(request)); });
}

// A few queries over a cache of keys and values: samples, heads, key heads, queries, keys, width,
// threads (0 = all cores).
void decode(benchmark::State& state) {
  const std::size_t samples = size(state, 0), heads = size(state, 1), kv_heads = size(state, 2),
                    queries = size(state, 3), keys = size(state, 4), width = size(state, 5);
  Numbers numbers;
  attn::AttentionRequest request;
  attn::Sequences sequences;
  sequences.query = numbers.tensor({samples, heads, queries, width}, 1);
  sequences.key = numbers.tensor({samples, kv_heads, keys, width}, 1);
  sequences.value = numbers.tensor({samples, kv_heads, keys, width}, 1);
  request.score = attn::ScaledDotProduct{std::move(sequences)};
  request.weights = false;
  request.threads = attn::bench::threads(state.range(6));
  const std::size_t cache = 2 * samples * kv_heads * keys * width * sizeof(float);
  const double bandwidth = attn::bench::read_bandwidth(cache, request.threads);
  const double seconds = attn::bench::time_runs(
      state, request.threads,
      4 * static_cast<double>(samples * heads * queries) * static_cast<double>(keys * width),
      [&] { benchmark::DoNotOptimize(attn::attend(request)); });
  const double reached = static_cast<double>(cache) / seconds * 1e-9;
  state.counters["GB/s"] = reached;
  state.counters["bandwidth"] = bandwidth;
  state.counters["of_bandwidth"] = reached / bandwidth;
}

void in_milliseconds(benchmark::internal::Benchmark* bench) {
  bench->Unit(benchmark::kMillisecond)->UseRealTime();
}

void multi_head_sizes(benchmark::internal::Benchmark* bench) {
  in_milliseconds(bench);
  bench->ArgNames({"samples", "length", "width", "heads", "threads"});
  for (const int threads : {0, 1}) {
    bench->Args({8, 512, 768, 12, threads})->Args({2, 128, 256, 4, threads});
  }
}

void encoder_layer_sizes(benchmark::internal::Benchmark* bench) {
  in_milliseconds(bench);
  bench->ArgNames({"samples", "length", "width", "heads", "feed_forward", "threads"});
  for (const int threads : {0, 1}) {
    bench->Args({8, 512, 768, 12, 3072, threads})->Args({2, 128, 256, 4, 1024, threads});
  }
}

void decode_sizes(benchmark::internal::Benchmark* bench) {
  in_milliseconds(bench);
  bench->ArgNames({"samples", "heads", "key_heads", "queries", "keys", "width", "threads"});
  for (const int threads : {0, 1}) {
    for (const int queries : {1, 4}) {
      bench->Args({1, 32, 8, queries, 8192, 128, threads})
          ->Args({1, 12, 12, queries, 8192, 64, threads});
    }
  }
}

BENCHMARK(multi_head)->Apply(multi_head_sizes);
BENCHMARK(encoder_layer)->Apply(encoder_layer_sizes);
BENCHMARK(decode)->Apply(decode_sizes);

}  // namespace
