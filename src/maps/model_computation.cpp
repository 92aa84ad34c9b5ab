#include "maps/model_computation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attention/visibility.hpp"
#include "document/model_reader.hpp"

namespace attn {
namespace {

constexpr std::size_t most_predicted = 10;

// [B,1,Lq,Lk], the same for all heads; absent if all is seen. Positions behind a sample's end see
// nothing.
Tensor allowed_by(const PlannedAttention& attention,
                  const std::vector<std::vector<std::int64_t>>& queries) {
  if (!attention.mask.hides()) return {};
  const Geometry& sizes = attention.geometry;
  const Visibility visibility(attention.mask, sizes);
  std::vector<std::uint8_t> seen(sizes.batch * sizes.queries * sizes.keys);
  for (std::size_t b = 0; b < sizes.batch; ++b) {
    for (std::size_t i = 0; i < queries[b].size(); ++i) {
      visibility.see(b, 0, i,
                     std::span(seen).subspan((b * sizes.queries + i) * sizes.keys, sizes.keys));
    }
  }
  return {{sizes.batch, 1, sizes.queries, sizes.keys}, std::move(seen)};
}

bool alike(const Mask& a, const Mask& b) {
  const auto window = [](const Mask& mask) {
    return mask.window ? std::pair(mask.window->left, mask.window->right)
                       : std::pair<std::optional<std::size_t>, std::optional<std::size_t>>();
  };
  return a.causal == b.causal && a.window.has_value() == b.window.has_value() &&
         window(a) == window(b);
}

}  // namespace

Prediction prediction_of(std::size_t position, const Tensor& logits, const ModelFolder& folder) {
  const Tensor numbers = logits.converted(DType::float64);
  const auto scores = numbers.values<double>();
  const double largest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - largest);
  std::vector<std::int64_t> ids(scores.size());
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  const std::size_t count = std::min(most_predicted, ids.size());
  // The lower id first where two are alike.
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      const double first = scores[static_cast<std::size_t>(a)];
                      const double second = scores[static_cast<std::size_t>(b)];
                      return first != second ? first > second : a < b;
                    });
  Prediction result;
  result.position = position;
  for (std::size_t i = 0; i < count; ++i) {
    Prediction::Token token;
    token.id = ids[i];
    if (folder.tokenizer) {
      // After another token, so that a space before it stays.
      const auto pair = written_tokens(folder, {ids[i], ids[i]});
      token.text = pair.back();
    }
    token.probability = std::exp(scores[static_cast<std::size_t>(ids[i])] - largest) / sum;
    result.likeliest.push_back(std::move(token));
  }
  return result;
}

Computed compute_model(const Plan& plan, const ModelRequest& request, const TakeComputed& take) {
  Computed computed;
  computed.attentions.resize(plan.attentions.size());
  // Whoever reads rows needs no maps, nor masks as large as these.
  for (std::size_t i = 0; i < plan.attentions.size() && !request.rows; ++i) {
    const PlannedAttention& attention = plan.attentions[i];
    ComputedAttention& map = computed.attentions[i];
    map.labels = attention.labels;
    // Layers of one sort see the same.
    for (std::size_t before = 0; before < i && !map.allowed; ++before) {
      const PlannedAttention& other = plan.attentions[before];
      if (other.geometry.weights_shape() == attention.geometry.weights_shape() &&
          other.name.in_decoder() == attention.name.in_decoder() &&
          other.name.is_cross() == attention.name.is_cross() && alike(other.mask, attention.mask)) {
        map.allowed = computed.attentions[before].allowed;
      }
    }
    if (!map.allowed) {
      map.allowed = allowed_by(
          attention, attention.name.in_decoder() ? request.texts.decoder_ids : request.texts.ids);
    }
  }
  for (const NamedTensor& tensor : plan.tokens) {
    computed.tensors.emplace_back(tensor.name, tensor.tensor);
    if (take) take(computed, std::nullopt);
  }
  if (!request.predicted.empty()) computed.predictions.resize(request.predicted.size());
  run_model(
      request.folder->architecture, request.folder->weights, request.texts, request,
      [&](const std::string& name, const Tensor& tensor) {
        computed.tensors.emplace_back(name, tensor);
        const bool weights = name.ends_with(".weights");
        if (weights || name == "output" || name == "logits") {
          computed.shapes.emplace_back(name, tensor.shape());
        }
        std::optional<std::size_t> attention;
        for (std::size_t i = 0; weights && i < plan.attentions.size(); ++i) {
          if (plan.attentions[i].name.tensor("weights") != name) continue;
          computed.attentions[i].weights = tensor;
          attention = i;
        }
        if (take) take(computed, attention);
      },
      [&](std::size_t sample, std::size_t position, const Tensor& logits) {
        computed.predictions[sample].push_back(prediction_of(position, logits, *request.folder));
      });
  return computed;
}

}  // namespace attn
