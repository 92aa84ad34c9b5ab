#include "models/distance_terms.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "attention/linear.hpp"
#include "tensor/operations.hpp"

namespace attn {

DistanceTermsReader::DistanceTermsReader(const Architecture& model, const StackWeights& weights,
                                         std::size_t longest, std::size_t threads)
    : model_(model), weights_(weights), threads_(threads) {
  if (!model.disentangled) return;
  const ModelDisentangled& rule = *model.disentangled;
  distances_ = rule.distances;
  if (rule.sinusoidal) {
    // Rows behind the largest distance would be those of the largest.
    distances_.span = std::max<std::size_t>(longest, 1);
    if (rule.clamp > 0) distances_.span = std::min(distances_.span, rule.clamp + 1);
    table_ = sinusoids();
    return;
  }
  const auto part = [&](WeightPurpose purpose, const char* name) {
    return weights.find(purpose, std::nullopt, name);
  };
  table_ = part(WeightPurpose::relative, "weight").converted(DType::float64);
  if (!rule.normed || !weights.has(WeightPurpose::relative_norm, std::nullopt)) return;
  const Norm norm{part(WeightPurpose::relative_norm, "weight"),
                  part(WeightPurpose::relative_norm, "bias"), model.norm};
  table_ = apply(norm, table_, model.eps, threads);
}

// Sines, then cosines, of the distances −span … span − 1.
Tensor DistanceTermsReader::sinusoids() const {
  const std::size_t half = model_.width / 2;
  const auto span = static_cast<double>(distances_.span);
  const double most =
      model_.disentangled->clamp > 0 ? static_cast<double>(model_.disentangled->clamp) : span;
  std::vector<double> numbers;
  numbers.reserve(4 * distances_.span * half);
  for (double distance = -span; distance < span; ++distance) {
    for (const bool cosine : {false, true}) {
      for (std::size_t k = 0; k < half; ++k) {
        const double share = 2 * static_cast<double>(k) / static_cast<double>(model_.width);
        const double angle = std::clamp(distance, -most, most) / std::pow(10000, share);
        numbers.push_back(cosine ? std::cos(angle) : std::sin(angle));
      }
    }
  }
  return {{2 * distances_.span, 2 * half}, std::move(numbers)};
}

// The products of rows [R,H·d] with a bias of the queries [H,d], less that which these have had
// already: [R,H].
Tensor DistanceTermsReader::shifts(WeightPurpose purpose, std::size_t n, const Tensor& rows) const {
  const std::vector<double> wanted = doubles_of(weights_.find(purpose, n, "weight")),
                            had = doubles_of(weights_.find(WeightPurpose::query_bias, n, "weight")),
                            of = doubles_of(rows);
  const std::size_t width = model_.head_width, heads = model_.heads, all = heads * width;
  std::vector<double> sums(of.size() / width, 0);
  for (std::size_t i = 0; i < of.size(); ++i) {
    sums[i / width] += of[i] * (wanted[i % all] - had[i % all]);
  }
  return {{of.size() / all, heads}, std::move(sums)};
}

DisentangledTerms DistanceTermsReader::of_layer(std::size_t n,
                                                const AttentionWeights& contents) const {
  using enum WeightPurpose;
  const ModelDisentangled& rule = *model_.disentangled;
  const auto projected = [&](WeightPurpose purpose, const StoredLinear& shared) {
    return apply(rule.shared ? shared : weights_.linear(purpose, n), table_, threads_);
  };
  DisentangledTerms own{distances_, {}, {}};
  if (rule.content_to_position) own.keys = projected(relative_key, contents.key);
  if (rule.position_to_content) own.queries = projected(relative_query, contents.query);
  if (!rule.sinusoidal) return own;
  own.key_shifts = shifts(distance_bias, n, own.keys);
  const Tensor both = weights_.find(segments, n, "weight");
  own.segments = both.reshaped({2, both.size() / 2}).converted(DType::float64);
  own.segment_shifts = shifts(segment_bias, n, own.segments);
  return own;
}

}  // namespace attn
