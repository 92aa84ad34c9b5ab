#include "view/layer_predictions.hpp"

#include <string>
#include <variant>

#include "attention/attention_name.hpp"
#include "maps/computed_maps.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "tensor/operations.hpp"

namespace attn {

void LayerPredictions::gather(Plan& plan) {
  auto* const model = std::get_if<ModelRequest>(&plan.computation);
  if (model == nullptr || model->predicted.empty()) return;
  const bool decodes = model->folder->architecture.encoder_decoder();
  model->inside = [this, decodes, &predicted = model->predicted, before = model->inside](
                      std::size_t sample, const std::string& name, const Layer& layer,
                      const LayerStep& step) {
    if (before) before(sample, name, layer, step);
    const AttentionName attention = AttentionName::of_tensor(name + "self.weights");
    if (!attention.layer() || attention.in_decoder() != decodes) return;
    for (const std::size_t position : predicted[sample]) {
      states_[{sample, position}].emplace_back(*attention.layer(),
                                               picked(step.states, {&position, 1}, 1));
    }
  };
}

std::vector<std::vector<std::vector<LayerPrediction>>> LayerPredictions::read(
    const Plan& plan) const {
  std::vector<std::vector<std::vector<LayerPrediction>>> samples;
  if (states_.empty()) return samples;
  const auto& request = std::get<ModelRequest>(plan.computation);
  const ModelFolder& folder = *request.folder;
  const std::string prefix = find_prefix(folder.weights, folder.architecture);
  const Stack stack = read_stack(folder.architecture, folder.weights,
                                 folder.architecture.stacks.back(), prefix, request);
  const LogitsHead head = read_head(folder.architecture, folder.weights, prefix);
  for (std::size_t b = 0; b < request.predicted.size(); ++b) {
    auto& predictions = samples.emplace_back();
    for (const std::size_t position : request.predicted[b]) {
      auto& by_layer = predictions.emplace_back();
      const auto found = states_.find({b, position});
      if (found == states_.end()) continue;
      for (const auto& [layer, state] : found->second) {
        const Tensor logits =
            head.logits(stack.finish(state), folder.architecture.eps, request.threads);
        by_layer.push_back({layer, prediction_of(position, logits, folder).likeliest.front()});
      }
    }
  }
  return samples;
}

}  // namespace attn
