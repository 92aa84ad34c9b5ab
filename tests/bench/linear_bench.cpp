#include <algorithm>
#include <cstddef>
#include <vector>

#include <benchmark/benchmark.h>

#include "attn/layers.hpp"

#include "attention/linear.hpp"
#include "bench/fma_peak.hpp"
#include "bench/threads.hpp"
#include "kernels/matrix_product.hpp"
#include "support/memory.hpp"

namespace {

using attn::bench::fma_peak;
using attn::bench::report_rate;

template <class T>
std::vector<T> numbers(std::size_t count) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = static_cast<T>(i * 7919 % 1009) / T(1009) - T(0.5);
  }
  return result;
}

template <class T>
std::size_t panel_columns() {
  return sizeof(T) == sizeof(float) ? attn::kernels::product_panel_floats()
                                    : attn::kernels::product_panel_doubles();
}

struct Sizes {
  explicit Sizes(const benchmark::State& state)
      : rows(static_cast<std::size_t>(state.range(0))),
        width(static_cast<std::size_t>(state.range(1))),
        columns(static_cast<std::size_t>(state.range(2))) {}
  std::size_t rows, width, columns;
  double operations() const {
    return 2 * static_cast<double>(rows) * static_cast<double>(width) *
           static_cast<double>(columns);
  }
};

// A Linear layer as attention uses it: packing of the weights and the memory of the result
// included.
template <class T>
void linear(benchmark::State& state) {
  const Sizes sizes(state);
  const std::size_t threads = attn::bench::threads(state.range(3));
  const attn::Linear layer{{{sizes.columns, sizes.width}, numbers<T>(sizes.columns * sizes.width)},
                           {{sizes.columns}, numbers<T>(sizes.columns)}};
  const attn::Tensor x({sizes.rows, sizes.width}, numbers<T>(sizes.rows * sizes.width));
  const double peak = fma_peak<T>(threads);
  for (auto _ : state) {
    benchmark::DoNotOptimize(attn::apply(layer, x, threads));
  }
  report_rate(state, sizes.operations(), peak);
}

// The product alone, of packed weights, on one thread.
template <class T>
void product(benchmark::State& state) {
  const Sizes sizes(state);
  const std::vector<T> x = numbers<T>(sizes.rows * sizes.width);
  const std::vector<T> w = numbers<T>(sizes.columns * sizes.width);
  std::vector<T> y(sizes.rows * sizes.columns);
  const std::size_t panel = panel_columns<T>();
  std::vector<T, attn::BlockAllocator<T>> panels((sizes.columns + panel - 1) / panel * panel *
                                                 sizes.width);
  for (std::size_t first = 0; first < sizes.columns; first += panel) {
    attn::kernels::pack_panel(
        attn::kernels::PanelRows<T>{w.data() + first * sizes.width, sizes.width,
                                    std::min(panel, sizes.columns - first), sizes.width},
        panels.data() + first * sizes.width);
  }
  const double peak = fma_peak<T>(1);
  for (auto _ : state) {
    attn::kernels::multiply_rows(
        attn::kernels::RowProduct<T>{x.data(), sizes.width, sizes.rows, sizes.width, panels.data(),
                                     sizes.columns, nullptr, y.data(), sizes.columns});
    benchmark::ClobberMemory();
  }
  report_rate(state, sizes.operations(), peak);
}

// Rows, width, columns, and for layers the threads, 0 = all cores.
void layer_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "width", "columns", "threads"})
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
  for (const int threads : {0, 1}) {
    bench->Args({768, 768, 768, threads})
        ->Args({4096, 768, 768, threads})
        ->Args({4096, 768, 3072, threads})
        ->Args({1, 768, 768, threads});
  }
}

void product_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "width", "columns"})->Unit(benchmark::kMillisecond)->UseRealTime();
  bench->Args({96, 768, 768})
      ->Args({768, 768, 768})
      ->Args({768, 1024, 1024})
      ->Args({100, 100, 100});
}

BENCHMARK(linear<float>)->Apply(layer_sizes);
BENCHMARK(linear<double>)->Apply(layer_sizes);
BENCHMARK(product<float>)->Apply(product_sizes);
BENCHMARK(product<double>)->Apply(product_sizes);

}  // namespace
