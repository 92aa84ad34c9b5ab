#include "maps/computed_maps.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "attn/gradient.hpp"

#include "maps/model_computation.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"
#include "tensor/narrow_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// What stands for a bin of positions: its first one, by its label or, made up as pictures do, its
// number.
std::vector<std::string> bin_labels(const std::vector<std::string>& labels, const char* prefix,
                                    std::size_t positions, std::size_t bins) {
  if (positions == bins) return labels;
  std::vector<std::string> result;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t first = (bin * positions + bins - 1) / bins;
    result.push_back(labels.empty() ? prefix + std::to_string(first + 1) : labels[first]);
  }
  return result;
}

void name_bins(std::vector<std::vector<std::string>>& lists, const char* prefix,
               std::size_t positions, std::size_t bins) {
  if (lists.empty()) lists.emplace_back();
  for (auto& labels : lists) labels = bin_labels(labels, prefix, positions, bins);
  if (lists[0].empty()) lists.clear();
}

// "128", or "2 to 3" where the bins are not of one size.
std::string bin_size(std::size_t positions, std::size_t bins) {
  const std::size_t least = positions / bins;
  return std::to_string(least) + (positions % bins == 0 ? "" : " to " + std::to_string(least + 1));
}

void name_bins(ComputedAttention& map, const Pooling& pooling, const Shape& from) {
  const Shape& shape = map.weights.shape();
  const std::size_t queries = shape[shape.size() - 2], keys = shape.back();
  name_bins(map.labels.query, "Q_", from[0], queries);
  name_bins(map.labels.key, "K_", from[1], keys);
  if (from[0] == queries && from[1] == keys) return;
  const bool largest = pooling.reduction == Pooling::Reduction::max;
  map.cells = translated(largest ? to_translate("Largest of {1} × {2} Weights a Cell")
                                 : to_translate("Mean of {1} × {2} Weights a Cell"),
                         bin_size(from[0], queries), bin_size(from[1], keys));
}

/// What a computation gives: its attentions in the order of the plan, and one output for all.
struct Attended {
  std::vector<AttentionResult> attentions;
  Tensor output;
};

Attended attended(const AttentionRequest& request) {
  const AttentionResult result = attend(request);
  return {{result}, result.output};
}

Attended attended(const ProjectedAttentionRequest& request) {
  const AttentionResult result = attend_projected(request);
  return {{result}, result.output};
}

Attended attended(const TransformerRequest& request) {
  TransformerResult result = transform(request);
  Attended all{{}, result.output};
  for (TransformerResult::Layer& layer : result.layers) {
    all.attentions.push_back(std::move(layer.self));
    if (request.decoder) all.attentions.push_back(std::move(layer.cross));
  }
  return all;
}

Computed named_results(const Plan& plan, const Attended& attended_plan) {
  Computed computed;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    if (tensor) computed.tensors.emplace_back(name, tensor);
  };
  // Pictures and reports show numbers of float32 and float64.
  const auto wide = [](const Tensor& tensor) { return tensor.converted(widened(tensor.dtype())); };
  for (const NamedTensor& tensor : plan.tokens) add(tensor.name, tensor.tensor);
  for (std::size_t i = 0; i < plan.attentions.size(); ++i) {
    const AttentionResult& result = attended_plan.attentions[i];
    const std::string prefix = plan.attentions[i].name.prefix();
    add(prefix + "weights", result.weights);
    add(prefix + "pooled_weights", result.pooled);
    add(prefix + "pooled_allowed", result.pooled_allowed);
    add(prefix + "dropped", result.dropped);
    add(prefix + "allowed", result.allowed);
    add(prefix + "scores", result.scores);
    add(prefix + "capped", result.capped);
    add(prefix + "masked", result.masked);
    add(prefix + "lse", result.lse);
    computed.empty_rows += result.empty_rows;
    ComputedAttention& map =
        computed.attentions.emplace_back(ComputedAttention{wide(result.weights),
                                                           result.allowed,
                                                           wide(result.scores),
                                                           wide(result.capped),
                                                           wide(result.masked),
                                                           plan.attentions[i].labels,
                                                           {}});
    if (result.pooled) {
      map.weights = result.pooled;
      map.allowed = result.pooled_allowed;
      name_bins(map, *plan.options().pool, result.pooled_from);
    }
    if (map.weights) {
      computed.shapes.emplace_back(prefix + (result.pooled ? "pooled_weights" : "weights"),
                                   map.weights.shape());
    }
  }
  add("output", attended_plan.output);
  if (attended_plan.output) computed.shapes.emplace_back("output", attended_plan.output.shape());
  return computed;
}

// Under the document's names: "gradient.x".
Gradients named_gradients(const Plan& plan) {
  const Gradients computed = std::visit(
      Overloaded{
          [&](const AttentionRequest& request) { return gradients(request, plan.output_gradient); },
          [&](const ProjectedAttentionRequest& request) {
            return gradients(request, plan.output_gradient);
          },
          [](const auto&) { return Gradients(); }},
      plan.computation);
  Gradients named;
  for (const auto& [ours, gradient] : computed) {
    std::string name = ours;
    for (const auto& [from, to] : plan.gradient_names) {
      if (from == ours) name = to;
    }
    name = "gradient." + name;
    const auto known = std::find_if(named.begin(), named.end(),
                                    [&](const auto& one) { return one.first == name; });
    const bool parameter = ours.find('.') != std::string::npos;
    if (known == named.end()) {
      named.emplace_back(name, gradient);
    } else {
      const Tensor own = gradient.converted(known->second.dtype());
      known->second =
          parameter ? concatenated(std::array{known->second, own}) : sum(known->second, own);
    }
  }
  return named;
}

}  // namespace

Computed compute(const Plan& plan, const TakeComputed& take) {
  return std::visit(
      Overloaded{[&](const ModelRequest& request) { return compute_model(plan, request, take); },
                 [&](const auto& request) {
                   Computed computed = named_results(plan, attended(request));
                   if (!plan.output_gradient) return computed;
                   for (auto& named : named_gradients(plan)) {
                     computed.tensors.push_back(std::move(named));
                   }
                   return computed;
                 }},
      plan.computation);
}

}  // namespace attn
