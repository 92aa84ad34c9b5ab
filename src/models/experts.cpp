#include "models/experts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/raw_array.hpp"
#include "models/elementwise.hpp"
#include "models/stored_matrix.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The tokens that take an expert, and how much each takes of it.
struct ExpertTokens {
  std::vector<std::size_t> tokens;
  std::vector<double> shares;
};

// Of scores [L,experts], by experts. Of equal ones the first are taken.
std::vector<ExpertTokens> tokens_by_expert(const Tensor& scores, const ModelExperts& experts) {
  std::vector<ExpertTokens> all(experts.count);
  std::vector<std::size_t> order(experts.count);
  const auto chosen = static_cast<std::ptrdiff_t>(experts.chosen);
  for (std::size_t t = 0; t < scores.size() / experts.count; ++t) {
    const auto row = scores.values<double>().subspan(t * experts.count, experts.count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::partial_sort(
        order.begin(), order.begin() + chosen, order.end(),
        [&](std::size_t a, std::size_t b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
    const auto taken = std::span(order).first(experts.chosen);
    const auto power = [&](std::size_t e) { return std::exp(row[e] - row[taken.front()]); };
    double sum = 0;
    for (const std::size_t e : taken) sum += power(e);
    for (const std::size_t e : taken) {
      all[e].tokens.push_back(t);
      all[e].shares.push_back(power(e) / sum);
    }
  }
  return all;
}

}  // namespace

Tensor chosen_experts(const Architecture& model, const CheckpointWeights& weights,
                      const StackWeights& names, const ModelOptions& options, const Tensor& x,
                      std::size_t n) {
  const ModelExperts& experts = *model.experts;
  const std::size_t threads = options.threads, width = x.shape().back();
  const Tensor scores = apply(names.linear("router", n), x, threads).converted(DType::float64);
  const auto stored = [&](const char* part) {
    const auto name = names.found("experts", n, part);
    if (name && weights.shape(*name)[0] == experts.count) return *name;
    throw input_error(
        translated("the experts of {1} are missing, or are not {2}", names.name("experts", n),
                   experts.count),
        weights.place(),
        translated("released weights hold them as MXFP4, which is not read: convert them to BF16"));
  };
  const std::string up = stored(".gate_up_proj"), up_bias = stored(".gate_up_proj_bias");
  const std::string down = stored(".down_proj"), down_bias = stored(".down_proj_bias");
  // Left in the file, of whose experts most texts take some alone: matrices [in,out], rows [out].
  const auto linear = [&](const std::string& matrices, const std::string& rows, std::size_t e) {
    RawArray own = weights.raw(matrices);
    const std::size_t bytes = own.bytes.size() / experts.count;
    own.shape.erase(own.shape.begin());
    own.bytes = own.bytes.subspan(e * bytes, bytes);
    const Tensor bias = weights.read_rows(rows, e, 1);
    return StoredLinear{StoredMatrix(std::move(own), true), bias.reshaped({bias.size()})};
  };
  const std::size_t tokens = x.size() / width;
  std::vector<double> total(x.size(), 0);
  const std::vector<ExpertTokens> by_expert = tokens_by_expert(scores, experts);
  for (std::size_t e = 0; e < experts.count; ++e) {
    const auto& [taken, shares] = by_expert[e];
    if (taken.empty()) continue;
    const Tensor in = picked(x.reshaped({tokens, width}), taken);
    const Tensor both = apply(linear(up, up_bias, e), in, threads);
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
    const Tensor out = apply(linear(down, down_bias, e), wide, threads).converted(DType::float64);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      for (std::size_t k = 0; k < width; ++k) {
        total[taken[i] * width + k] += shares[i] * out.values<double>()[i * width + k];
      }
    }
  }
  return Tensor(x.shape(), std::move(total)).converted(options.dtype);
}

}  // namespace attn
