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
  std::size_t width = 64;  ///< of queries, keys and values; of the hidden layer too if additive
  Kind kind = Kind::scaled_dot_product;
  DType dtype = DType::float32;
  bool causal = false;
  std::optional<Window> window;
  bool rotary = false;         ///< queries and keys are turned by their positions
  bool norms = false;          ///< queries and keys have RMS norms
  bool alibi = false;          ///< distances are added to the scores
  bool relative_bias = false;  ///< so are biases by 32 buckets of them
  bool sinks = false;          ///< each head has a sink
  bool weights = false;        ///< whether the weights are written out too
  std::size_t threads = 0;     ///< 0 = as many as the machine has
};

/// The shapes that docs/performance.md compares: of `request`, the kind, the mask and the rest, but
/// for the sizes. Additive attention has a shape of its own.
std::vector<BenchRequest> usual_shapes(const BenchRequest& request);

struct BenchResult {
  BenchRequest request;
  std::size_t runs = 0;
  double seconds = 0, best_seconds = 0;  ///< of one run: the median, the shortest
  /// 10⁹ operations a second at the median: floating-point ones, 4·B·H·Lq·Lk·D a run; for
  /// `additive` values of tanh, B·H·Lq·Lk·D a run. Half of that if causal.
  double giga_rate = 0;
  /// 10⁹ floating-point operations a second that fused multiply-adds on registers reach in the same
  /// precision on as many threads, measured before and after: the better one.
  double peak_gflops = 0;
};

/// Runs it for a second or so. Throws Error(usage) for a kind that does not compare queries with
/// keys itself, Error(input) for sizes beyond the machine.
BenchResult bench(const BenchRequest& request);

/// The heading of lines of bench_text().
std::string bench_heading();

/// One line each. The JSON of additive attention has "gtanh", 10⁹ values of tanh a second, in place
/// of "gflops" and "fraction_of_peak".
std::string bench_text(const BenchResult& result);
std::string bench_json(const BenchResult& result);

}  // namespace attn
