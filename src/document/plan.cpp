#include "document/plan.hpp"

#include <algorithm>
#include <utility>

#include "attention/attention_name.hpp"
#include "attention/head_preparation.hpp"
#include "attention/projected_attention.hpp"
#include "layers/torch_layers.hpp"

namespace attn {
namespace {

using Attentions = std::vector<PlannedAttention>;

Attentions planned(const AttentionRequest& request) {
  const Geometry geometry = check_geometry(request);
  check_options(request, geometry);
  return {{{}, request.mask, geometry, {}}};
}

Attentions planned(const ProjectedAttentionRequest& request) {
  Shape output;
  return {{{}, request.mask, check_projected(request, "", output), {}}};
}

Attentions planned(const TransformerRequest& request) {
  Attentions attentions;
  const std::vector<LayerGeometry> layers = check_transformer(request);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string prefix = layers.size() > 1 ? layer_prefix("", i) : "";
    attentions.push_back({AttentionName(prefix + "self"), request.mask, layers[i].self, {}});
    if (!request.decoder) continue;
    attentions.push_back(
        {AttentionName(prefix + "cross"), request.memory_mask, layers[i].cross, {}});
  }
  return attentions;
}

// Absent if all are equally long.
Tensor lengths_of(const std::vector<std::vector<std::int64_t>>& samples) {
  const std::size_t longest = longest_of(samples);
  std::vector<std::int64_t> lengths;
  bool equal = true;
  for (const auto& ids : samples) {
    lengths.push_back(static_cast<std::int64_t>(ids.size()));
    equal = equal && ids.size() == longest;
  }
  const std::size_t count = lengths.size();
  return equal ? Tensor() : Tensor({count}, std::move(lengths));
}

Attentions planned(const ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  Attentions attentions;
  for (const ModelStack& stack : model.stacks) {
    const auto& own = request.texts.read_by(stack);
    const auto geometry = [&](const auto& of_keys) {
      Geometry sizes;
      sizes.batch_axis = sizes.head_axis = sizes.joined = true;
      sizes.batch = own.size();
      sizes.heads = model.heads;
      sizes.kv_heads = model.kv_heads;
      sizes.queries = longest_of(own);
      sizes.keys = longest_of(of_keys);
      sizes.query_width = sizes.key_width = sizes.value_width = model.head_width;
      return sizes;
    };
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      if (request.layers && std::ranges::count(*request.layers, n) == 0) continue;
      const std::string_view name = model.result_stack(stack);
      Mask mask = stack_mask(stack, n);
      mask.valid_lens = lengths_of(own);
      attentions.push_back({{name, n, "self"}, std::move(mask), geometry(own), {}});
      if (!stack.crosses) continue;
      Mask memory;
      memory.valid_lens = lengths_of(request.texts.ids);
      attentions.push_back(
          {{name, n, "cross"}, std::move(memory), geometry(request.texts.ids), {}});
    }
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
