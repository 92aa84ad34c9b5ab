#include "document/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "layers/torch_layers.hpp"
#include "models/vision.hpp"
#include "support/overloaded.hpp"

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

// An encoder's attentions follow those of the decoder.
Attentions planned(const TransformerRequest& request) {
  Attentions attentions;
  const std::vector<LayerGeometry> layers = check_transformer(request);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string prefix = layer_prefix_of(request, i);
    attentions.push_back({AttentionName(prefix + "self"), request.mask, layers[i].self, {}});
    if (!request.decoder) continue;
    attentions.push_back(
        {AttentionName(prefix + "cross"), request.memory_mask, layers[i].cross, {}});
  }
  if (request.encoder) {
    for (PlannedAttention& own : planned(encoder_of(request))) attentions.push_back(std::move(own));
  }
  return attentions;
}

// The lengths [B] of samples; absent if all are equal.
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

// Lets the tokens that see all others do so. Where these differ from sample to sample, pairs that
// are seen take the place of the window.
void add_global(const ModelRequest& request, std::size_t n, Mask& mask) {
  const Architecture& model = request.folder->architecture;
  if (model.global_tokens == GlobalTokens::none) return;
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t b = 0; b < request.texts.ids.size(); ++b) {
    all.push_back(global_positions(model, request.texts.ids[b],
                                   request.texts.place + "/" + std::to_string(b)));
  }
  if (std::ranges::count(all, all.front()) == static_cast<std::ptrdiff_t>(all.size())) {
    mask.global = all.front();
    return;
  }
  const std::size_t length = longest_of(request.texts.ids),
                    side = model.stacks.front().layers[n].window.value_or(length);
  std::vector<std::uint8_t> seen;
  for (const std::vector<std::size_t>& global : all) {
    for (std::size_t i = 0; i < length; ++i) {
      const bool sees_all = std::ranges::binary_search(global, i);
      for (std::size_t j = 0; j < length; ++j) {
        const bool near = std::max(i, j) - std::min(i, j) <= side;
        seen.push_back(near || sees_all || std::ranges::binary_search(global, j) ? 1 : 0);
      }
    }
  }
  mask.window.reset();
  mask.allow = Tensor({all.size(), 1, length, length}, std::move(seen));
}

Attentions planned(const ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  Attentions attentions;
  const auto grid = grid_of_pictures(model, request.texts);
  const Tensor lengths_of_memory = lengths_of(request.texts.ids);
  for (const ModelStack& stack : model.stacks) {
    const auto& own = request.texts.read_by(stack);
    const Tensor lengths = lengths_of(own);
    const auto geometry = [&](std::size_t n, std::optional<std::size_t> keys = {}) {
      const ModelLayer& layer = stack.layers[n];
      Geometry sizes;
      sizes.batch_axis = sizes.head_axis = sizes.joined = true;
      sizes.batch = own.size();
      sizes.heads = layer.heads;
      sizes.kv_heads = layer.kv_heads;
      sizes.queries = longest_at(model, request.texts, stack, n);
      sizes.keys = keys.value_or(sizes.queries);
      sizes.query_width = sizes.key_width = layer.head_width;
      const auto& latent = model.of(stack).latent;
      sizes.value_width = latent ? latent->value : layer.head_width;
      return sizes;
    };
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      if (!request.options.wanted.chooses_map(stack, n)) continue;
      const ModelPlace at{stack_of(model, stack), n};
      Mask mask =
          stack_mask(stack, n, grid ? std::optional(grid_at(*grid, stack.layers[n])) : grid);
      mask.valid_lens = lengths;
      add_global(request, n, mask);
      attentions.push_back({at.attention(), std::move(mask), geometry(n), {}});
      if (!stack.crosses) continue;
      Mask memory;
      memory.valid_lens = lengths_of_memory;
      const ModelPlace cross{at.stack, n, ModelPlace::Part::cross};
      attentions.push_back(
          {cross.attention(), std::move(memory), geometry(n, longest_of(request.texts.ids)), {}});
    }
  }
  return attentions;
}

}  // namespace

std::vector<PlannedAttention> attentions_of(const Computation& computation) {
  return std::visit([](const auto& request) { return planned(request); }, computation);
}

ComputingOptions Plan::options() const {
  const auto of = [](const auto& own, const auto& results) {
    return ComputingOptions{own.dtype, own.threads, results.weights, results.stages};
  };
  return std::visit(Overloaded{[&](const ModelRequest& request) {
                                 return of(request.options, request.options.wanted);
                               },
                               [&](const AttentionOptions& own) { return of(own, own); }},
                    computation);
}

void Plan::choose(const ComputingOptions& options) {
  const auto put = [&](auto& own, auto& results) {
    std::tie(own.dtype, own.threads) = std::tie(options.dtype, options.threads);
    std::tie(results.weights, results.stages) = std::tie(options.weights, options.stages);
  };
  std::visit(
      Overloaded{[&](ModelRequest& request) { put(request.options, request.options.wanted); },
                 [&](AttentionOptions& own) { put(own, own); }},
      computation);
}

const AttentionOptions& Plan::attention_options() const {
  static const AttentionOptions of_models;
  return std::visit(
      Overloaded{[](const ModelRequest&) -> const AttentionOptions& { return of_models; },
                 [](const AttentionOptions& own) -> const AttentionOptions& { return own; }},
      computation);
}

const std::optional<Pooling>& Plan::pool() const {
  const ModelRequest* const request = model_of(*this);
  return request != nullptr ? request->pool : attention_options().pool;
}

ModelRequest* model_of(Plan& plan) noexcept {
  return std::get_if<ModelRequest>(&plan.computation);
}

const ModelRequest* model_of(const Plan& plan) noexcept {
  return std::get_if<ModelRequest>(&plan.computation);
}

std::size_t Plan::scores_count() const {
  std::size_t count = 0;
  for (const PlannedAttention& attention : attentions)
    count += element_count(attention.geometry.weights_shape());
  return count;
}

}  // namespace attn
