#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "kernels/additive_scores.hpp"

namespace {

// Scores of 96 queries with the keys of one panel, on one thread.
template <class T>
void additive_scores(benchmark::State& state) {
  constexpr std::size_t queries = 96;
  const auto units = static_cast<std::size_t>(state.range(0));
  const std::size_t row_count = attn::kernels::additive_row_count<T>(units);
  const std::size_t keys = attn::kernels::additive_panel_keys<T>();
  const auto number = [](std::size_t i) {
    return static_cast<T>(i * 7919 % 1009) / T(1009) - T(0.5);
  };
  std::vector<T> a(units), w(units), b(keys * units), inverses(row_count);
  std::vector<T> powers(queries * row_count), panel(keys * row_count), found(queries * keys);
  std::vector<std::uint8_t> wide(keys);
  for (std::size_t u = 0; u < units; ++u) w[u] = number(u);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = number(i);
  attn::kernels::AdditiveWeights<T> weights{};
  attn::kernels::additive_weights(w.data(), units, inverses.data(), weights);
  std::vector<const T*> rows;
  std::vector<T*> scores;
  for (std::size_t i = 0; i < queries; ++i) {
    for (std::size_t u = 0; u < units; ++u) a[u] = number(i * units + u);
    attn::kernels::additive_query_powers(a.data(), units, inverses.data(),
                                         powers.data() + i * row_count);
    rows.push_back(powers.data() + i * row_count);
    scores.push_back(found.data() + i * keys);
  }
  attn::kernels::additive_key_powers(b.data(), units, keys, units, panel.data(), wide.data());
  // The largest product of powers decides how many units share a division.
  const T largest = std::ldexp(T(1), static_cast<int>(state.range(1)));
  for (auto _ : state) {
    attn::kernels::additive_scores(
        {rows.data(), queries, units, &weights, panel.data(), largest, scores.data()});
    benchmark::ClobberMemory();
  }
  state.counters["tanh/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(queries * keys * units),
      benchmark::Counter::kIsRate);
}

// One pair at a time through tanh itself, as for numbers beyond what powers hold.
void additive_score(benchmark::State& state) {
  const auto units = static_cast<std::size_t>(state.range(0));
  const std::vector<float> a(units, 50.0F), b(units, -49.5F), w(units, 0.1F);
  for (auto _ : state) {
    benchmark::DoNotOptimize(attn::kernels::additive_score(a.data(), b.data(), w.data(), units));
  }
  state.counters["tanh/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * static_cast<double>(units),
                         benchmark::Counter::kIsRate);
}

BENCHMARK(additive_scores<float>)
    ->ArgNames({"units", "exponent"})
    ->ArgsProduct({{16, 128, 512}, {4, 26, 40, 120}});
BENCHMARK(additive_scores<double>)->ArgNames({"units", "exponent"})->ArgsProduct({{128}, {4}});
BENCHMARK(additive_score)->ArgName("units")->Arg(128);

}  // namespace
