#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "models/configuration_reader.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::optional<std::size_t> own_count(const JsonValue& object, const char* key) {
  const JsonValue* value = present_member(object, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is(JsonValue::Type::number)) {
    refuse_type(key, *value, to_translate("a number"), "/per_layer_config");
  }
  return size_of_number(value->number());
}

}  // namespace

LayerRules::LayerRules(const ConfigurationReader& reader, Architecture& model)
    : reader_(reader), row_(reader.row()), model_(model) {}

ModelStack LayerRules::stack(const RowStack& part, bool causal, bool crosses, std::size_t count) {
  if (!part.names)
    refuse_key("names", translated("the row names no tensors"), translated("give \"names\""));
  ModelStack own;
  own.prefix = part.prefix;
  own.causal = causal;
  own.crosses = crosses;
  own.names = *part.names;
  own.left_out = row_.left_out;
  if (row_.groups) {
    own.groups = row_.groups->count;
    own.inner = row_.groups->inner;
  }
  own.staged = row_.stages.has_value();
  const LayerTypeReader types(reader_, causal, count);
  // Rotations of heads of each width.
  std::map<std::size_t, RotaryReader> rotations;
  for (std::size_t n = 0; n < count; ++n) {
    ModelLayer& layer = own.layers.emplace_back();
    layer.width = model_.width;
    layer.heads = model_.heads;
    read_head_sizes(n, layer, types.window_of(n, true).has_value());
    if (row_.stages) read_stage(n, layer);
    if (model_.positions == ModelPositions::patch_rotary) {
      layer.rotary.emplace().theta = row_.rotary.theta;
    }
    if (model_.positions != ModelPositions::rotary) continue;
    const auto [one, is_new] = rotations.try_emplace(layer.head_width, reader_, layer.head_width);
    const std::vector<std::string>& warnings = one->second.warnings();
    if (rotations.size() > 1 || !is_new) continue;
    model_.warnings.insert(model_.warnings.end(), warnings.begin(), warnings.end());
  }
  if (causal && types.both_ways()) own.causal = false;
  const std::vector<double>& turns = row_.rotary.turned;
  const std::size_t off_every = row_.rotary.off_every;
  const double scale =
      read_scale() * (rotations.empty() ? 1 : scale_beside(rotations.begin()->second));
  const bool by_layer = reader_.boolean("scale_attn_by_inverse_layer_idx").value_or(false);
  for (std::size_t n = 0; n < count; ++n) {
    ModelLayer& layer = own.layers[n];
    const auto found = rotations.find(layer.head_width);
    const RotaryReader* rotary = found == rotations.end() ? nullptr : &found->second;
    layer.scale = by_layer ? scale / static_cast<double>(n + 1) : scale;
    if (own.staged) {
      layer.scale = row_.scale.value_or(1 / std::sqrt(static_cast<double>(layer.head_width)));
    }
    const bool turned =
        n < turns.size() ? turns[n] != 0 : off_every == 0 || (n + 1) % off_every != 0;
    layer.attends = types.attends(n);
    layer.mixes = types.mixes(n);
    layer.feeds = types.feeds(n);
    layer.window = types.window_of(n, turned);
    layer.experts = row_.experts && layer.feeds && types.has_experts(n).value_or(chooses(n));
    const bool off_if_full =
        row_.rotary.off_in_full_layers || (row_.rotary.off_beside_windows && types.size());
    const bool off = !layer.attends || (!layer.window && off_if_full &&
                                        (layer.experts || !row_.rotary.in_dense_layers));
    if (rotary && turned && !off) layer.rotary = rotary->read(layer.window.has_value());
    if (layer.rotary && n < row_.rotary.thetas.size()) layer.rotary->theta = row_.rotary.thetas[n];
    if (row_.window && row_.window->chunked) std::swap(layer.window, layer.chunk);
    if (row_.growth && row_.growth->active && !(turned && row_.growth->where_not_turned)) {
      const QueryGrowth& by_row = *row_.growth;
      layer.growth = rotary ? rotary->growth().value_or(by_row) : by_row;
      if (layer.growth->scale == 0) layer.growth.reset();
    }
  }
  share_keys(own);
  return own;
}

// Heads of layers without a window may have sizes of their own, which newest configurations give
// layer by layer.
void LayerRules::read_head_sizes(std::size_t n, ModelLayer& layer, bool windowed) {
  layer.head_width = model_.head_width;
  layer.kv_heads = model_.kv_heads;
  if (!row_.full_layers) return;
  const JsonValue* all = reader_.find("per_layer_config");
  if (!windowed) {
    if (all == nullptr) {
      layer.head_width = row_.full_layers->head_width.value_or(layer.head_width);
    }
    layer.keys_are_values = row_.full_layers->keys_are_values;
    if (layer.keys_are_values) {
      layer.kv_heads = row_.full_layers->kv_heads.value_or(layer.kv_heads);
    }
  }
  const JsonValue* own = all == nullptr ? nullptr : present_member(*all, std::to_string(n));
  if (own != nullptr) {
    layer.head_width = own_count(*own, "head_dim").value_or(layer.head_width);
    layer.kv_heads = own_count(*own, "num_key_value_heads").value_or(layer.kv_heads);
    for (const JsonMember& member : own->members()) {
      if (member.key == "head_dim" || member.key == "num_key_value_heads") continue;
      refuse_key("per_layer_config",
                 translated("\"{1}\" of single layers is not supported", member.key),
                 translated("all layers would have the same"));
    }
  }
  if (layer.head_width > 0 && layer.head_width <= most_width && layer.kv_heads > 0 &&
      model_.heads % layer.kv_heads == 0) {
    return;
  }
  refuse_key("per_layer_config",
             translated("{1} query heads of width {2} cannot share {3} key heads", model_.heads,
                        layer.head_width, layer.kv_heads),
             translated("check the sizes"));
}

// The sizes of a layer of a stage, and its squares of patches, which every second layer shifts.
void LayerRules::read_stage(std::size_t n, ModelLayer& layer) const {
  const RowStages& row = *row_.stages;
  std::size_t in_stage = n;
  while (in_stage >= size_of_number(row.depths[layer.mergings])) {
    in_stage -= size_of_number(row.depths[layer.mergings++]);
  }
  const std::size_t stage = layer.mergings;
  layer.width = row.width << stage;
  layer.heads = layer.kv_heads = size_of_number(row.heads[stage]);
  layer.head_width = layer.width / layer.heads;
  layer.patches = PatchWindow{row.window, in_stage % 2 == 1};
  if (stage < row.trained.size()) layer.patches->trained = size_of_number(row.trained[stage]);
  if (!row.fitted) return;
  const std::size_t patches = (reader_.count("image_size").value_or(0) /
                               std::max<std::size_t>(reader_.count("patch_size").value_or(1), 1)) >>
                              stage;
  if (patches > 0) layer.patches->side = std::min(row.window, patches);
}

// The last layers take keys and values of the last one before them that has a window, or has
// none, as they do.
void LayerRules::share_keys(ModelStack& stack) const {
  const std::size_t count = stack.layers.size();
  if (row_.shared_keys == 0) return;
  const std::size_t first = count - std::min(count, row_.shared_keys);
  for (std::size_t n = first; n < count; ++n) {
    for (std::size_t other = first; other-- > 0 && !stack.layers[n].keys_of;) {
      if (stack.layers[other].window.has_value() == stack.layers[n].window.has_value()) {
        stack.layers[n].keys_of = other;
      }
    }
    if (stack.layers[n].keys_of) continue;
    refuse_key("num_kv_shared_layers",
               translated("layer {1} takes keys of a layer before it, and none is like it", n),
               translated("the first layers must be of all types"));
  }
}

// Whether a layer of a model with experts has them.
bool LayerRules::chooses(std::size_t n) const {
  const RowExperts& rule = *row_.experts;
  const std::size_t every = std::max<std::size_t>(rule.every, 1);
  return n >= rule.first && n <= rule.last.value_or(n) &&
         std::ranges::count(rule.dense, static_cast<double>(n)) == 0 &&
         (rule.at ? std::ranges::count(*rule.at, static_cast<double>(n)) > 0
                  : n % every == rule.offset.value_or(every - 1));
}

// The factor of the scores by which latent attention makes up for YaRN's amplitude.
double LayerRules::scale_beside(const RotaryReader& rotary) const {
  if (!model_.latent) return 1;
  const Rotary turned = rotary.read(false);
  const auto* yarn = std::get_if<YarnScaling>(&turned.scaling);
  if (yarn == nullptr || yarn->factor <= 1 || yarn->mscale_all_dim.value_or(0) == 0) return 1;
  const double factor = 0.1 * *yarn->mscale_all_dim * std::log(yarn->factor) + 1;
  return factor * factor;
}

// The factor of the scores in the first layer.
double LayerRules::read_scale() const {
  if (!reader_.boolean("scale_attn_weights").value_or(true)) return 1;
  if (row_.score_multiplier) return *row_.score_multiplier;
  const double width = row_.scale_of.value_or(static_cast<double>(model_.head_width));
  return row_.scale.value_or(1 / std::sqrt(width * static_cast<double>(model_.score_terms)));
}

}  // namespace attn
