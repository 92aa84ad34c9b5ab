#include "models/contact_head.hpp"

#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "attention/linear.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {

bool has_contact_head(const Architecture& model, const CheckpointWeights& weights) {
  return StackWeights(weights, model, model.stacks.front())
      .has(WeightPurpose::contacts, std::nullopt);
}

ContactHead ContactHead::read(const Architecture& model, const CheckpointWeights& weights) {
  const StackWeights names(weights, model, model.stacks.front());
  ContactHead own;
  const Tensor numbers =
      names.find(WeightPurpose::contacts, std::nullopt, "weight").converted(DType::float64);
  own.factors_.assign(numbers.values<double>().begin(), numbers.values<double>().end());
  if (const Tensor bias = names.find(WeightPurpose::contacts, std::nullopt, "bias")) {
    own.bias_ = bias.converted(DType::float64).values<double>()[0];
  }
  return own;
}

void ContactHead::add(std::size_t layer, const Tensor& weights,
                      const std::vector<std::int64_t>& ids, std::size_t threads,
                      std::vector<double>& logits) const {
  // ESM's head takes 2 for its end token whatever eos_token_id is.
  constexpr std::int64_t end = 2;
  const std::size_t length = ids.size(), heads = weights.shape()[1];
  if (length < 3) return;
  const std::size_t n = length - 2;
  logits.resize(n * n, 0);
  std::vector<double> both(n * n), sums(n);
  with_floats(weights, [&]<class T>(std::span<const T> maps) {
    for (std::size_t h = 0; h < heads; ++h) {
      // Begins at the second query and the second key.
      const T* map = maps.data() + h * length * length + length + 1;
      parallel_for(n, threads, [&](std::size_t i) {
        sums[i] = 0;
        for (std::size_t j = 0; j < n; ++j) {
          const bool hidden = ids[i + 1] == end || ids[j + 1] == end;
          const double sum =
              static_cast<double>(map[i * length + j]) + static_cast<double>(map[j * length + i]);
          both[i * n + j] = hidden ? 0 : sum;
          sums[i] += both[i * n + j];
        }
      });
      const double all = std::accumulate(sums.begin(), sums.end(), 0.0);
      if (!(all > 0)) continue;
      const double factor = factors_[layer * heads + h];
      parallel_for(n, threads, [&](std::size_t i) {
        for (std::size_t j = 0; j < n; ++j) {
          logits[i * n + j] += factor * (both[i * n + j] - sums[i] * sums[j] / all);
        }
      });
    }
  });
}

Tensor ContactHead::probabilities(const std::vector<double>& logits) const {
  if (logits.empty()) return {{1, 1, 1}, std::vector<double>{0}};
  const auto n = static_cast<std::size_t>(std::lround(std::sqrt(logits.size())));
  std::vector<double> numbers;
  numbers.reserve(logits.size());
  for (const double logit : logits) numbers.push_back(sigmoid(logit + bias_));
  return {{1, n, n}, std::move(numbers)};
}

}  // namespace attn
