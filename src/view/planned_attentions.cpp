#include "view/planned_attentions.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"

#include "document/reader.hpp"
#include "heads/attention_maps.hpp"
#include "maps/map_selection.hpp"
#include "maps/selected_map.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "view/hidden_reasons.hpp"
#include "view/map_rows.hpp"

namespace attn {
namespace {

constexpr std::size_t most_letters = 80;  // of a sample's title

std::vector<std::size_t> chosen_heads(const PlannedAttention& attention,
                                      const MapSelection& selection) {
  return numbers_in(selection.chosen_heads, attention.geometry.heads, "MapSelection::chosen_heads",
                    "head", "heads");
}

// The layers that are looked at; none = all, also of what has no numbers of layers.
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

// The first letters of a text on one line.
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

std::optional<ViewedAttention> planned_attention(const Plan& plan, const AttentionMap& map,
                                                 std::size_t at, const ViewOptions& options) {
  const PlannedAttention& attention = plan.attentions[at];
  if (!is_chosen(attention, chosen_layers(plan, options.selection))) return std::nullopt;
  const std::vector<std::size_t> heads = chosen_heads(attention, options.selection);
  const std::size_t of = attention.geometry.heads;
  ViewedAttention viewed;
  viewed.maps = planned_maps(plan, map, at, options.counting);
  viewed.maps.weights = maps_of_heads(viewed.maps.weights, heads, of);
  viewed.maps.allowed = maps_of_heads(viewed.maps.allowed, heads, of);
  viewed.title = attention.name.title();
  viewed.stack = attention.name.stack_title();
  if (heads.size() == of) {
    viewed.heads_a_group = of / attention.geometry.kv_heads;
  } else {
    viewed.heads = heads;
  }
  viewed.labels = attention.labels;
  const auto add = [&](const char* name, const Tensor& stage) {
    if (!stage) return;
    viewed.stages.emplace_back(name,
                               maps_of_heads(as_maps(stage, attention.heads_only()), heads, of));
  };
  add("scores", map.scores);
  if (plan.options().softcap) add("capped", map.capped);
  if (attention.mask.present()) add("masked", map.masked);
  viewed.hidden_because = hidden_reasons(attention);
  return viewed;
}

}  // namespace attn
