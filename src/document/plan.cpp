#include "document/plan.hpp"

#include "attention/projected_attention.hpp"
#include "attention/transformer.hpp"
#include "attention/visibility.hpp"

namespace attn {
namespace {

using Attentions = std::vector<PlannedAttention>;

Attentions planned(const AttentionRequest& request) {
  const Geometry geometry = check_geometry(request);
  const Visibility mask_fits(request.mask, geometry);
  return {{"", request.mask, geometry, {}}};
}

Attentions planned(const ProjectedAttentionRequest& request) {
  Shape output;
  return {{"", request.mask, check_projected(request, "", output), {}}};
}

Attentions planned(const TransformerRequest& request) {
  Attentions attentions;
  const std::vector<LayerGeometry> layers = check_transformer(request);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string prefix = layer_prefix(request, i);
    attentions.push_back({prefix + "self.", request.mask, layers[i].self, {}});
    if (!request.decoder) continue;
    attentions.push_back({prefix + "cross.", request.memory_mask, layers[i].cross, {}});
  }
  return attentions;
}

}  // namespace

std::vector<PlannedAttention> attentions_of(const Computation& computation) {
  return std::visit([](const auto& request) { return planned(request); }, computation);
}

AttentionOptions& Plan::options() noexcept {
  return std::visit([](AttentionOptions& options) -> AttentionOptions& { return options; },
                    computation);
}

const AttentionOptions& Plan::options() const noexcept {
  return std::visit(
      [](const AttentionOptions& options) -> const AttentionOptions& { return options; },
      computation);
}

std::size_t Plan::scores_count() const {
  std::size_t count = 0;
  for (const PlannedAttention& attention : attentions)
    count += element_count(attention.geometry.weights_shape());
  return count;
}

}  // namespace attn
