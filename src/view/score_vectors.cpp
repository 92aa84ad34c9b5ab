#include "view/score_vectors.hpp"

#include <variant>

#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "attention/visibility.hpp"
#include "layers/layer.hpp"
#include "layers/torch_layers.hpp"
#include "models/pass.hpp"
#include "support/overloaded.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Rows of all heads as [B,H,L,d].
Tensor apart(const HeadRows<float>& rows, std::size_t batch, std::size_t heads) {
  std::vector<float> numbers;
  numbers.reserve(batch * heads * rows.length() * rows.width());
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < rows.length(); ++i) {
        const auto row = rows(b, h, i);
        numbers.insert(numbers.end(), row.begin(), row.end());
      }
    }
  }
  return {{batch, heads, rows.length(), rows.width()}, std::move(numbers)};
}

// Samples of a model as one; each is computed alone.
ScoreVectors joined(const std::vector<ScoreVectors>& samples) {
  ScoreVectors all = samples.front();
  for (Tensor ScoreVectors::*part :
       {&ScoreVectors::query, &ScoreVectors::key, &ScoreVectors::value}) {
    std::vector<Tensor> parts;
    parts.reserve(samples.size());
    for (const ScoreVectors& sample : samples) parts.push_back(sample.*part);
    all.*part = batched(parts);
  }
  return all;
}

}  // namespace

std::size_t ScoreVectors::bytes() const {
  return 2 * (query.size() + key.size() + value.size());
}

std::optional<ScoreVectors> score_vectors(const AttentionRequest& request) {
  if (!std::holds_alternative<DotProduct>(request.score) &&
      !std::holds_alternative<ScaledDotProduct>(request.score)) {
    return std::nullopt;
  }
  const Geometry geometry = check_geometry(request);
  Sequences sequences = *sequences_of(request.score);
  const HeadPreparation preparation(request, geometry, QueryPlaces(request.mask, geometry));
  if (preparation) sequences = preparation.prepared(sequences, DType::float32);
  const HeadRows<float> queries(sequences.query, geometry.heads),
      keys(sequences.key_or_query(), geometry.kv_heads, sequences.past_key),
      values(sequences.value_or_key(), geometry.kv_heads, sequences.past_value);
  ScoreVectors vectors;
  vectors.query = apart(queries, geometry.batch, geometry.heads);
  vectors.key = apart(keys, geometry.batch, geometry.kv_heads);
  vectors.value = apart(values, geometry.batch, geometry.kv_heads);
  vectors.scale = scale_of(request, geometry);
  vectors.softcap = request.softcap;
  vectors.biased = request.mask.bias || request.mask.alibi || request.relative_bias;
  vectors.sink = static_cast<bool>(request.sinks);
  return vectors;
}

GatheredVectors::GatheredVectors(const Plan& plan) {
  const auto add_only = [&](const AttentionRequest& request) {
    add(plan.attentions[0].name.text(), request, false);
  };
  std::visit(Overloaded{[&](const AttentionRequest& request) { add_only(request); },
                        [&](const ProjectedAttentionRequest& request) {
                          add_only(project(request, request.states, request.projections));
                        },
                        [](const TransformerRequest&) {}, [](const ModelRequest&) {}},
             plan.computation);
}

PassObserver GatheredVectors::observer(bool stages) {
  const auto take = [this, stages](const SamplePlace& at, const Layer&, const LayerStep& step) {
    if (!step.self.weights) return;
    const AttentionName self = at.place.attention();
    add(self.text(), step.self_request, stages);
    if (step.cross.weights) add(self.with_part("cross").text(), step.cross_request, stages);
  };
  return {.layer = take};
}

void GatheredVectors::add_layers(const Plan& plan) {
  const auto* const layers = std::get_if<TransformerRequest>(&plan.computation);
  if (layers == nullptr) return;
  const TransformerRequest& request = *layers;
  StepOptions inside;
  inside.inside = true;
  Tensor states = states_of(request, DType::float64);
  const Tensor memory = memory_of(request, DType::float64);
  auto attention = plan.attentions.begin();
  for (std::size_t n = 0; n < request.layers.size(); ++n) {
    LayerStep done = step(layer_of(request, n), states, memory, inside);
    add((attention++)->name.text(), done.self_request, false);
    if (request.decoder) add((attention++)->name.text(), done.cross_request, false);
    states = std::move(done.states);
  }
}

void GatheredVectors::add(const std::string& name, const AttentionRequest& request, bool stages) {
  if (auto vectors = score_vectors(request)) vectors_[name].push_back(*std::move(vectors));
  if (!stages) return;
  AttentionRequest with_stages = request;
  with_stages.stages = true;
  const AttentionResult result = attend(with_stages);
  Stages& kept = stages_[name];
  const auto keep = [](std::vector<Tensor>& samples, const Tensor& tensor) {
    samples.push_back(tensor.converted(DType::float32));
  };
  keep(kept.scores, result.scores);
  if (request.softcap) keep(kept.capped, result.capped);
  keep(kept.masked, result.masked);
}

std::optional<ScoreVectors> GatheredVectors::take(const AttentionMap& map) {
  const auto found = vectors_.find(map.name.text());
  if (found == vectors_.end()) return std::nullopt;
  std::optional<ScoreVectors> vectors = joined(found->second);
  vectors_.erase(found);
  return vectors;
}

void GatheredVectors::put_stages(AttentionMap& map) {
  const auto found = stages_.find(map.name.text());
  if (found == stages_.end()) return;
  const auto put = [](Tensor& tensor, const std::vector<Tensor>& samples) {
    if (!samples.empty()) tensor = batched(samples);
  };
  put(map.scores, found->second.scores);
  put(map.capped, found->second.capped);
  put(map.masked, found->second.masked);
  stages_.erase(found);
}

}  // namespace attn
