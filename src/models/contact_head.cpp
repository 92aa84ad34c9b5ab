#include "models/contact_head.hpp"

#include <cmath>
#include <utility>

namespace attn {

std::optional<ContactHead> ContactHead::read(const Architecture& model,
                                             const CheckpointWeights& weights,
                                             const std::string& prefix) {
  const StackWeights names(weights, model, model.stacks.front(), prefix);
  const Tensor factors = names.find(WeightPurpose::contacts, std::nullopt, "weight");
  if (!factors) return std::nullopt;
  ContactHead own;
  const Tensor numbers = factors.converted(DType::float64);
  own.factors_.assign(numbers.values<double>().begin(), numbers.values<double>().end());
  if (const Tensor bias = names.find(WeightPurpose::contacts, std::nullopt, "bias")) {
    own.bias_ = bias.converted(DType::float64).values<double>()[0];
  }
  return own;
}

void ContactHead::add(std::size_t layer, const Tensor& weights,
                      const std::vector<std::int64_t>& ids, std::vector<double>& logits) const {
  constexpr std::int64_t end = 2;  // whatever the configuration calls so
  const std::size_t length = ids.size(), heads = weights.shape()[1];
  if (length < 3) return;
  const std::size_t n = length - 2;
  logits.resize(n * n, 0);
  const Tensor numbers = weights.converted(DType::float64);
  std::vector<double> both(n * n), sums(n);
  for (std::size_t h = 0; h < heads; ++h) {
    const double* map = numbers.values<double>().data() + h * length * length;
    double all = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sums[i] = 0;
      for (std::size_t j = 0; j < n; ++j) {
        const bool hidden = ids[i + 1] == end || ids[j + 1] == end;
        both[i * n + j] =
            hidden ? 0 : map[(i + 1) * length + j + 1] + map[(j + 1) * length + i + 1];
        sums[i] += both[i * n + j];
      }
      all += sums[i];
    }
    const double factor = factors_[layer * heads + h];
    for (std::size_t at = 0; at < n * n && all > 0; ++at) {
      logits[at] += factor * (both[at] - sums[at / n] * sums[at % n] / all);
    }
  }
}

Tensor ContactHead::probabilities(const std::vector<double>& logits) const {
  if (logits.empty()) return {{1, 1, 1}, std::vector<double>{0}};
  const auto n = static_cast<std::size_t>(std::lround(std::sqrt(logits.size())));
  std::vector<double> numbers;
  numbers.reserve(logits.size());
  for (const double logit : logits) numbers.push_back(1 / (1 + std::exp(-logit - bias_)));
  return {{1, n, n}, std::move(numbers)};
}

}  // namespace attn
