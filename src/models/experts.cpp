#include "models/experts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "models/elementwise.hpp"
#include "tensor/tensor_part.hpp"

namespace attn {

Tensor chosen_experts(const Architecture& model, const CheckpointWeights& weights,
                      const StackWeights& names, const ModelOptions& options, const Tensor& x,
                      std::size_t n) {
  const ModelExperts& experts = *model.experts;
  const std::size_t threads = options.threads, width = x.shape().back();
  const Tensor scores = apply(names.linear("router", n), x, threads).converted(DType::float64);
  const Tensor up = names.find("experts", n, ".gate_up_proj");
  const Tensor up_bias = names.find("experts", n, ".gate_up_proj_bias");
  const Tensor down = names.find("experts", n, ".down_proj");
  const Tensor down_bias = names.find("experts", n, ".down_proj_bias");
  for (const Tensor* part : {&up, &up_bias, &down, &down_bias}) {
    if (*part && (*part).shape()[0] == experts.count) continue;
    throw input_error("the experts of " + names.name("experts", n) + " are missing, or are not " +
                          std::to_string(experts.count),
                      weights.place(),
                      "released weights hold them as MXFP4, which is not "
                      "read: convert them to BF16");
  }
  const std::size_t tokens = x.size() / width;
  std::vector<double> total(x.size(), 0);
  const Tensor wide_x = x.converted(DType::float64);
  for (std::size_t e = 0; e < experts.count; ++e) {
    // 1. The tokens that take this expert, and how much each takes.
    std::vector<std::size_t> taken;
    std::vector<double> shares;
    for (std::size_t t = 0; t < tokens; ++t) {
      const auto row = scores.values<double>().subspan(t * experts.count, experts.count);
      std::vector<std::size_t> order(experts.count);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
      order.resize(experts.chosen);
      if (std::find(order.begin(), order.end(), e) == order.end()) continue;
      double sum_of = 0;
      for (const std::size_t other : order) sum_of += std::exp(row[other] - row[order[0]]);
      taken.push_back(t);
      shares.push_back(std::exp(row[e] - row[order[0]]) / sum_of);
    }
    if (taken.empty()) continue;
    // 2. Its feed-forward for them.
    const auto matrix = [&](const Tensor& all) {
      const Tensor own = rows_of(all, e, 1);
      return transposed(own.reshaped({own.shape()[1], own.shape()[2]}));
    };
    const auto vector = [&](const Tensor& all) {
      const Tensor own = rows_of(all, e, 1);
      return own.reshaped({own.shape()[1]});
    };
    const Tensor in = picked(x.reshaped({tokens, width}), taken);
    const Tensor both = apply(Linear{matrix(up), vector(up_bias)}, in, threads);
    const std::size_t hidden = both.shape().back() / 2;
    const Tensor numbers = both.converted(DType::float64);
    std::vector<double> gated;
    gated.reserve(taken.size() * hidden);
    for (std::size_t i = 0; i < taken.size() * hidden; ++i) {
      const double gate = std::min(numbers.values<double>()[2 * i], experts.limit);
      const double other =
          std::clamp(numbers.values<double>()[2 * i + 1], -experts.limit, experts.limit);
      gated.push_back(gate / (1 + std::exp(-1.702 * gate)) * (other + 1));
    }
    const Tensor wide = Tensor({taken.size(), hidden}, std::move(gated)).converted(options.dtype);
    const Tensor out =
        apply(Linear{matrix(down), vector(down_bias)}, wide, threads).converted(DType::float64);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      for (std::size_t k = 0; k < width; ++k) {
        total[taken[i] * width + k] += shares[i] * out.values<double>()[i * width + k];
      }
    }
  }
  return Tensor(x.shape(), std::move(total)).converted(options.dtype);
}

}  // namespace attn
