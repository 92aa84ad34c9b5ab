#include "view/page_input.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "heads/head_maps.hpp"
#include "maps/attention_map.hpp"
#include "maps/map_selection.hpp"
#include "maps/seen_picture.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_names.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

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
  if (const auto picture = picture_of(plan)) {
    const auto& files = options.document.images;
    const auto& texts = options.document.texts;
    const std::size_t pictures = picture->image.shape()[0];
    for (std::size_t i = 0; i < std::max(pictures, texts.size()); ++i) {
      std::string& title = titles.emplace_back();
      if (i < pictures) {
        title = i < files.size() ? files[i].filename().string() : translated("Picture {1}", i + 1);
      }
      if (i < texts.size()) title += (title.empty() ? "" : " / ") + shortened(texts[i].text);
    }
    return titles;
  }
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
  if (!plan.attention_options().pool) return;
  throw Error(ErrorKind::usage,
              translated("pooled weights have no single positions to look through"),
              "DocumentOptions::pool", translated("leave the pooling out"));
}

Plan plan_of_view(const ViewOptions& options, const Document& document) {
  Plan chosen = plan_of_maps(document, [&](Plan& plan) {
    ComputingOptions computing = plan.options();
    computing.weights = true;
    computing.stages = options.stages && model_of(plan) == nullptr;
    computing.threads = options.document.threads;
    plan.choose(computing);
  });
  check_viewable(chosen);
  return chosen;
}

ViewedInput planned_input(const Plan& plan, const ViewOptions& options) {
  ViewedInput input;
  input.title = plan.title;
  input.description = plan.description;
  input.samples = sample_titles(plan, options);
  input.shown = input.samples.empty() ? std::string(info(plan.kind).name) : input.samples.front();
  input.warnings = plan.warnings;
  const std::vector<std::size_t> layers = chosen_layers(plan, options.maps.selection);
  for (const PlannedAttention& attention : plan.attentions) {
    if (!is_chosen(attention, layers)) continue;
    const std::size_t heads = chosen_heads(attention, options.maps.selection).size();
    std::size_t tensors = 1;
    if (options.stages && (plan.model || plan.options().stages)) {
      tensors +=
          1 + (plan.attention_options().softcap ? 1 : 0) + (attention.mask.present() ? 1 : 0);
    }
    input.sizes.push_back({attention.geometry.batch * heads * tensors, attention.geometry.queries,
                           attention.geometry.keys});
  }
  return input;
}

std::optional<AttentionMap> planned_map(const Plan& plan, AttentionMap map,
                                        const ViewOptions& options) {
  if (!is_chosen(*map.planned, chosen_layers(plan, options.maps.selection))) return std::nullopt;
  // Stages that are equal to the one before are not shown again.
  if (!plan.model && !plan.attention_options().softcap) map.capped = {};
  if (!plan.model && !map.planned->mask.present()) map.masked = {};
  return chosen_part(with_tokens(std::move(map), options.counting, model_of(plan)),
                     options.maps.selection);
}

ViewedInput filed_input(std::vector<FiledMaps>& stacks, const ResultReader& first,
                        const ViewOptions& options) {
  ViewedInput input;
  input.title = first.title();
  input.shown = first.kind().value_or(first.names().empty() ? "" : first.names().front());
  bool stages = false;
  for (FiledMaps& stack : stacks) {
    stack.each([&](AttentionMap whole) {
      check_is_map(whole);
      if (input.sizes.empty()) input.warnings = doubts_of(whole, options.maps, false);
      const AttentionMap map = chosen_part(std::move(whole), options.maps.selection);
      const Maps sizes(map.numbers, map.heads_only);
      stages = stages || map.scores;
      std::size_t tensors = 1;
      for (const Tensor* stage : {&map.scores, &map.capped, &map.masked}) {
        if (*stage) ++tensors;
      }
      input.sizes.push_back(
          {sizes.samples() * sizes.heads() * tensors, sizes.queries(), sizes.keys()});
    });
  }
  if (options.stages && !stages) {
    input.warnings.emplace_back(translated(
        "the input holds no steps of the score: compute it with run() and RunOptions::stages"));
  }
  return input;
}

AttentionMap filed_map(AttentionMap map, bool holds_floats, const ViewOptions& options) {
  map = chosen_part(std::move(map), options.maps.selection);
  if (holds_floats) {
    for (Tensor* tensor : {&map.numbers, &map.scores, &map.capped, &map.masked}) {
      if (*tensor) *tensor = tensor->converted(DType::float32);
    }
  }
  map = with_tokens(std::move(map), options.counting);
  const Labels& labels = map.labels;
  map.same_positions = map.same_positions && (labels.query == labels.key || labels.either);
  return map;
}

std::string stack_of(const AttentionMap& map) {
  const bool named = map.tensor.empty() || is_map(map.tensor);
  return named ? map.name.stack_title() : pattern_of(map.name.text()).value_or(map.name.text());
}

}  // namespace attn
