#include "view/viewed_attention.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/reader.hpp"
#include "heads/head_maps.hpp"
#include "maps/map_selection.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_names.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "view/map_rows.hpp"

namespace attn {
namespace {

constexpr std::size_t most_letters = 80;  // of a sample's title

std::vector<std::size_t> chosen_heads(const PlannedAttention& attention,
                                      const MapSelection& selection) {
  return numbers_in(selection.chosen_heads, attention.geometry.heads, "MapSelection::chosen_heads",
                    "head", "heads");
}

// Layers that are shown; none = all, also those without numbers.
std::vector<std::size_t> chosen_layers(const Plan& plan, const MapSelection& selection) {
  if (!selection.layers) return {};
  std::size_t count = 0;
  for (const PlannedAttention& attention : plan.attentions) {
    if (const auto layer = attention.name.layer()) count = std::max(count, *layer + 1);
  }
  if (count == 0) {
    throw input_error(translated("there is one map, and no stack of layers"),
                      "MapSelection::layers", translated("leave it out"));
  }
  return numbers_in(selection.layers, count, "MapSelection::layers", "layer", "layers");
}

bool is_chosen(const PlannedAttention& attention, const std::vector<std::size_t>& layers) {
  const auto layer = attention.name.layer();
  return layers.empty() || (layer && std::count(layers.begin(), layers.end(), *layer) > 0);
}

// First letters of a text, on one line.
std::string shortened(const std::string& text) {
  std::string line;
  std::size_t letters = 0;
  for (const char c : text) {
    if (!continues_character(c) && letters++ == most_letters) return line + "…";
    line += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return line;
}

std::vector<std::string> sample_titles(const Plan& plan, const ViewOptions& options) {
  std::vector<std::string> titles;
  if (!plan.model) return titles;
  if (!options.document.texts.empty()) {
    for (const ModelText& text : options.document.texts) {
      titles.push_back(shortened(text.pair ? text.text + " / " + *text.pair : text.text));
    }
    return titles;
  }
  for (const auto& tokens : plan.model->tokens) {
    std::string text;
    for (const std::string& token : tokens) text += token;
    titles.push_back(shortened(text));
  }
  return titles;
}

std::vector<std::size_t> chosen_heads(const Tensor& maps, const MapSelection& selection) {
  return numbers_in(selection.chosen_heads, maps.shape()[1], "MapSelection::chosen_heads", "head",
                    "heads");
}

// Attention with the chosen heads of its maps alone.
ViewedAttention of_heads(HeadMaps maps, const ViewOptions& options) {
  ViewedAttention viewed;
  AttentionMap& map = maps.map;
  const std::size_t of = map.numbers.shape()[1];
  const std::vector<std::size_t> heads = chosen_heads(map.numbers, options.selection);
  for (Tensor* tensor : {&map.numbers, &map.allowed, &map.scores, &map.capped, &map.masked}) {
    *tensor = maps_of_heads(*tensor, heads, of);
  }
  if (heads.size() != of) {
    map.heads_per_group = 1;
    viewed.heads = heads;
  }
  viewed.maps = std::move(maps);
  return viewed;
}

}  // namespace

void check_viewable(const Plan& plan) {
  if (!plan.options().pool) return;
  throw Error(ErrorKind::usage,
              translated("pooled weights have no single positions to look through"),
              "DocumentOptions::pool", translated("leave the pooling out"));
}

Plan plan_of_view(const ViewOptions& options, const Document& document) {
  const auto choose = [&](Plan& plan) {
    plan.options().weights = true;
    plan.options().stages =
        options.stages && !std::holds_alternative<ModelRequest>(plan.computation);
    plan.options().threads = options.document.threads;
  };
  std::vector<Plan> plans = read_plans(document, choose);
  if (plans.size() > 1) {
    throw Error(ErrorKind::usage, translated("the document asks for several kinds of attention"),
                "DocumentOptions::attention", translated("choose one of them"));
  }
  Plan& plan = plans[0];
  check_viewable(plan);
  choose(plan);
  if (options.stages && plan.model) {
    plan.warnings.emplace_back(translated(
        "the stages of a model's scores are not drawn: explain() shows those of a query"));
  }
  return std::move(plans.front());
}

ViewedInput planned_input(const Plan& plan, const ViewOptions& options) {
  ViewedInput input;
  input.title = plan.title;
  input.description = plan.description;
  input.samples = sample_titles(plan, options);
  input.warnings = plan.warnings;
  const std::vector<std::size_t> layers = chosen_layers(plan, options.selection);
  for (const PlannedAttention& attention : plan.attentions) {
    if (!is_chosen(attention, layers)) continue;
    const std::size_t heads = chosen_heads(attention, options.selection).size();
    std::size_t tensors = 1;
    if (plan.options().stages && !plan.model) {
      tensors += 1 + (plan.options().softcap ? 1 : 0) + (attention.mask.present() ? 1 : 0);
    }
    input.sizes.push_back({attention.geometry.batch * heads * tensors, attention.geometry.queries,
                           attention.geometry.keys});
  }
  return input;
}

std::optional<ViewedAttention> planned_attention(const Plan& plan, AttentionMap map,
                                                 const ViewOptions& options) {
  const PlannedAttention& attention = *map.planned;
  if (!is_chosen(attention, chosen_layers(plan, options.selection))) return std::nullopt;
  // Stages that are equal to the one before are not shown again.
  if (!plan.options().softcap) map.capped = {};
  if (!attention.mask.present()) map.masked = {};
  ViewedAttention viewed = of_heads(
      head_maps(std::move(map), options.counting, std::get_if<ModelRequest>(&plan.computation)),
      options);
  viewed.title = attention.name.title();
  viewed.stack = attention.name.stack_title();
  viewed.hidden_because = hidden_reasons(attention);
  return viewed;
}

FiledAttentions::FiledAttentions(const ViewOptions& options, std::shared_ptr<ResultReader> first)
    : options_(options), first_(std::move(first)) {
  MapRequest request;
  request.input = options.document.input;
  request.others = options.others;
  request.name = options.name;
  request.axes = options.axes;
  request.labels = options.labels;
  request.selection.layers = options.selection.layers;
  request.selection.layers_together = options.selection.layers_together;
  request.files = options.document.files;
  stacks_ =
      all_stacks(request, options.stages ? MapContents::stages : MapContents::weights, first_);
}

ViewedInput FiledAttentions::input() {
  ViewedInput input;
  input.title = first_->title();
  bool samples_only = false, stages = false;
  for (FiledMaps& stack : stacks_) {
    stack.each([&](const AttentionMap& map) {
      check_is_map(map);
      const Maps sizes(map.numbers, map.heads_only);
      samples_only = samples_only || is_samples_of_one_head(map);
      stages = stages || map.scores;
      const std::size_t heads = chosen_heads(sizes.all(), options_.selection).size();
      std::size_t tensors = 1;
      for (const Tensor* stage : {&map.scores, &map.capped, &map.masked}) {
        if (*stage) ++tensors;
      }
      input.sizes.push_back({sizes.samples() * heads * tensors, sizes.queries(), sizes.keys()});
    });
  }
  if (samples_only && !first_->is_result() && options_.axes.empty()) {
    input.warnings.push_back(samples_of_one_head_warning());
  }
  if (options_.stages && !stages) {
    input.warnings.emplace_back(translated(
        "the input holds no steps of the score: compute it with run() and RunOptions::stages"));
  }
  return input;
}

void FiledAttentions::each(const std::function<void(const ViewedAttention&)>& take) {
  for (FiledMaps& stack : stacks_) {
    stack.each([&](AttentionMap map) { take(viewed(std::move(map))); });
  }
}

ViewedAttention FiledAttentions::viewed(AttentionMap map) const {
  if (first_->holds_floats()) {
    for (Tensor* tensor : {&map.numbers, &map.scores, &map.capped, &map.masked}) {
      if (*tensor) *tensor = tensor->converted(DType::float32);
    }
  }
  const bool named = map.tensor.empty() || is_map(map.tensor);
  ViewedAttention viewed = of_heads(head_maps(std::move(map), options_.counting), options_);
  HeadMaps& maps = viewed.maps;
  const AttentionName& name = maps.map.name;
  viewed.stack = named ? name.stack_title() : pattern_of(name.text()).value_or(name.text());
  viewed.title =
      maps.map.place.empty() ? AttentionName::of_tensor(maps.map.tensor).title() : maps.map.place;
  const Labels& labels = maps.map.labels;
  maps.same_positions = maps.same_positions && (labels.query == labels.key || labels.either);
  viewed.hidden_because =
      apparent_reasons(maps.map.allowed, maps.map.numbers.shape()[0], maps.same_positions);
  return viewed;
}

}  // namespace attn
