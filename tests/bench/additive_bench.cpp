#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "kernels/additive_scores.hpp"

namespace {

// Scores of 96 queries with the keys of one panel, on one thread.
void additive_scores(benchmark::State& state) {
  constexpr std::size_t queries = 96;
  const auto units = static_cast<std::size_t>(state.range(0));
  const std::size_t row_floats = attn::kernels::additive_row_floats(units);
  const std::size_t keys = attn::kernels::additive_panel_keys();
  const auto number = [](std::size_t i) {
    return static_cast<float>(i * 7919 % 1009) / 1009.0F - 0.5F;
  };
  std::vector<float> a(units), w(row_floats), b(keys * units);
  std::vector<float> powers(queries * row_floats), panel(keys * row_floats), found(queries * keys);
  std::vector<std::uint8_t> wide(keys);
  for (std::size_t u = 0; u < units; ++u) w[u] = number(u);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = number(i);
  std::vector<const float*> rows;
  std::vector<float*> scores;
  for (std::size_t i = 0; i < queries; ++i) {
    for (std::size_t u = 0; u < units; ++u) a[u] = number(i * units + u);
    attn::kernels::additive_query_powers(a.data(), units, powers.data() + i * row_floats);
    rows.push_back(powers.data() + i * row_floats);
    scores.push_back(found.data() + i * keys);
  }
  attn::kernels::additive_key_powers(b.data(), units, keys, units, panel.data(), wide.data());
  for (auto _ : state) {
    attn::kernels::additive_scores({rows.data(), queries, units, w.data(), 0.0F, panel.data(),
                                    state.range(1) != 0, scores.data()});
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

BENCHMARK(additive_scores)->ArgNames({"units", "capped"})->ArgsProduct({{16, 128, 512}, {0, 1}});
BENCHMARK(additive_score)->ArgName("units")->Arg(128);

}  // namespace
