#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/spec.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// One attention to time, on random tensors.
struct BenchRequest {
  std::size_t batch = 1, heads = 12, queries = 2048, keys = 2048;
  std::size_t width =
      64;  ///< of queries, keys and values, and of the hidden layer of additive attention
  Kind kind = Kind::scaled_dot_product;
  DType dtype = DType::float32;
  bool causal = false;
  std::optional<Window> window;
  bool rotary = false;                              ///< rotary positions
  bool norms = false;                               ///< RMS norms of queries and keys
  bool alibi = false;                               ///< ALiBi
  bool relative_bias = false;                       ///< a relative bias with 32 buckets
  bool sinks = false;                               ///< one sink per head
  bool weights = false;                             ///< whether to compute the weights too
  std::string score = {}, where = {}, weight = {};  ///< expressions; empty = none
  std::size_t threads = 0;                          ///< 0 = as many as the machine has
};

/// The shapes of docs/inside/performance.md with all other fields of `request`. Additive attention
/// has a shape of its own.
std::vector<BenchRequest> usual_shapes(const BenchRequest& request);

struct BenchResult {
  BenchRequest request;
  std::size_t runs = 0;
  double seconds = 0, best_seconds = 0;  ///< of one run: median and shortest
  /// Median rate in 10⁹ operations per second: 4·B·H·Lq·Lk·D floating-point operations per run, or
  /// B·H·Lq·Lk·D values of tanh for `additive`. Half of that if causal.
  double giga_rate = 0;
  /// Peak rate in 10⁹ floating-point operations per second: fused multiply-adds on registers in the
  /// same precision on as many threads, the better of a measurement before and one after.
  double peak_gflops = 0;
  /// Shortest of the same runs without the expressions, each after one with them; 0 without
  /// expressions.
  double without_expressions = 0;
};

/// Runs the request for about a second. Throws Error(usage) for kinds that do not compare given
/// queries with given keys, Error(input) for sizes beyond the machine.
BenchResult bench(const BenchRequest& request);

/// The heading of lines of bench_text(). `additive`: whether one is of additive attention.
std::string bench_heading(bool additive);

/// A result as one line of text or of JSON. The JSON of additive attention has "gtanh", 10⁹ values
/// of tanh per second, in place of "gflops" and "fraction_of_peak".
std::string bench_text(const BenchResult& result);
std::string bench_json(const BenchResult& result);

}  // namespace attn
