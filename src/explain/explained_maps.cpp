#include <cstdint>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/document.hpp"
#include "explain/explained_query.hpp"
#include "explain/explained_steps.hpp"
#include "explain/explanation.hpp"
#include "maps/filed_maps.hpp"
#include "maps/opened_input.hpp"
#include "maps/selected_map.hpp"
#include "plot/text/token_labels.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Pattern of the weights of a stack of an encoder-decoder model: "encoder", "decoder" or "cross".
std::string pattern_of_stack(const std::string& stack) {
  const AttentionName first =
      stack == "cross" ? AttentionName("decoder", 0, stack) : AttentionName(stack, 0, "self");
  return *first.pattern() + ".weights";
}

MapRequest request_of(const ExplainOptions& options) {
  MapRequest request = options.maps;
  if (options.layer && !request.selection.layers) {
    const auto layer = static_cast<std::int64_t>(*options.layer);
    request.selection.layers = {{layer, layer + 1}};
  }
  if (!options.stack.empty() && !request.name) request.name = pattern_of_stack(options.stack);
  return request;
}

// Whether the maps to explain are those of chosen layers or files, and not the first of one file.
bool chooses_layers(const MapRequest& request) {
  const MapSelection& selection = request.selection;
  return selection.layers || !request.others.empty() ||
         selection.layers_together != MapSelection::Layers::each;
}

/// One layer of the maps, of which heads are taken.
class MapOfLayer {
 public:
  MapOfLayer(const AttentionMap& map, const MapChoice& choice) : selected_(map, choice) {
    if (map.holds_weights() || map.tensor.ends_with("dropped")) return;
    throw input_error(translated("{1} holds no weights", in_quotes(map.tensor)), "MapRequest::name",
                      translated("name a tensor of weights; if rows are queries and columns keys, "
                                 "say so with MapRequest::axes"));
  }

  std::size_t queries() const noexcept { return selected_.numbers.queries(); }
  std::size_t samples() const noexcept { return selected_.numbers.samples(); }
  std::size_t all_heads() const noexcept { return selected_.numbers.heads(); }
  const AttentionMap& map() const noexcept { return selected_.map; }
  std::string where() const { return selected_.where; }

  bool heads_are_one() const { return heads_together(selected_.choice.selection); }
  std::string heads_in_words() const { return heads_text(selected_); }
  std::vector<std::size_t> heads() const {
    if (selected_.choice.selection.heads == MapSelection::Shown::all) return drawn_heads(selected_);
    return {selected_.choice.head};
  }

  Heatmap heatmap(std::size_t head) const {
    return selected_heatmap(selected_, selected_.choice.sample, head);
  }

 private:
  SelectedMap selected_;
};

/// The rows of one head of a layer, or of several taken together.
class HeadRowsExplained {
 public:
  HeadRowsExplained(const MapOfLayer& layer, std::size_t head)
      : layer_(layer),
        head_(head),
        heatmap_(layer.heatmap(head)),
        weights_(heatmap_.weights.converted(DType::float64)),
        allowed_(heatmap_.allowed ? heatmap_.allowed.converted(DType::boolean) : Tensor()) {
    const TokenSpelling spelling = token_spelling({&heatmap_.query_labels, &heatmap_.key_labels});
    query_labels_ = readable_tokens(heatmap_.query_labels, spelling, false);
    key_labels_ = readable_tokens(heatmap_.key_labels, spelling, false);
  }

  MapRow row(std::size_t query) const {
    const std::size_t keys = weights_.shape()[1];
    MapRow row{query,
               {},
               {},
               false,
               PositionNames(query_labels_, weights_.shape()[0], to_translate("query {1}")),
               PositionNames(key_labels_, keys, to_translate("key {1}"))};
    const auto weights = weights_.values<double>().subspan(query * keys, keys);
    row.weights.assign(weights.begin(), weights.end());
    if (allowed_) {
      const auto allowed = allowed_.values<std::uint8_t>().subspan(query * keys, keys);
      row.allowed.assign(allowed.begin(), allowed.end());
    }
    row.same_positions = weights_.shape()[0] == keys && query_labels_ == key_labels_ &&
                         !AttentionName::of_tensor(layer_.map().tensor).is_cross();
    return row;
  }

  std::string place() const {
    const std::string heads = !layer_.heads_are_one()
                                  ? translated("Head {1}", head_ + layer_.map().first_number())
                                  : layer_.heads_in_words();
    return layer_.where().empty() ? heads : layer_.where() + translated(", ") + heads;
  }

  std::string head_of_all() const {
    return layer_.heads_are_one()
               ? place()
               : translated("head {1} of {2}", head_ + layer_.map().first_number(),
                            layer_.all_heads());
  }

 private:
  const MapOfLayer& layer_;
  std::size_t head_;
  Heatmap heatmap_;
  Tensor weights_, allowed_;
  std::vector<std::string> query_labels_, key_labels_;
};

void introduce(const MapOfLayer& layer, const HeadRowsExplained& head, const MapRow& row,
               const ExplainOptions& options, std::size_t layers, Explanation& to) {
  const AttentionMap& map = layer.map();
  to.item(map.tensor.empty()
              ? translated("file: {1}, a tensor {2}", one_line(map.file), text(map.numbers.shape()))
              : translated("file: {1}, tensor {2} {3}", one_line(map.file), in_quotes(map.tensor),
                           text(map.numbers.shape())));
  if (!layer.where().empty()) {
    to.item(layers > 1 ? translated("{1}, of {2} in all", layer.where(), layers) : layer.where());
  }
  const std::string query =
      options.every_query
          ? translated("each of the queries, {1} in all", layer.queries())
          : translated("{1} of {2}", row.query_names.in_prose(row.query), layer.queries());
  const std::size_t first = layer.map().first_number();
  to.item(translated("sample {1} of {2}, {3}, {4} ({5})", options.sample + first, layer.samples(),
                     head.head_of_all(), query,
                     first == 0 ? translated("words count from 1, samples, layers and heads from 0")
                                : translated("words count from 1")));
  to.paragraph(
      translated("A map shows where each query looks, but not why: the scores, the projections and "
                 "the values are not in it. Explain the document or the model for them."));
}

// The members of the JSON object of one row before its steps.
Fact::Members facts_about(const MapOfLayer& layer, std::size_t head, const ExplainOptions& options,
                          std::size_t query) {
  const bool largest = options.maps.selection.heads == MapSelection::Shown::max;
  return {{"file", layer.map().file},
          {"tensor", layer.map().tensor},
          {"layer", if_given(layer.map().layer)},
          {"sample", options.sample},
          {"head", layer.heads_are_one() ? Fact(largest ? "max" : "mean") : Fact(head)},
          {"query", query}};
}

void explain_layer(const MapOfLayer& layer, const ExplainOptions& options, std::size_t layers,
                   ExplanationOutput& output) {
  const std::vector<std::string> labels =
      Labels::of_sample(layer.map().labels.query, options.sample);
  const std::size_t first = options.every_query ? 0 : query_of(options, labels, layer.queries());
  check_choice(of_queries, first, layer.queries());
  const std::size_t end = options.every_query ? layer.queries() : first + 1;
  for (const std::size_t head : layer.heads()) {
    const HeadRowsExplained rows(layer, head);
    for (std::size_t query = first; query < end; ++query) {
      const MapRow row = rows.row(query);
      Explanation explanation;
      explanation.full = options.full;
      explanation.title =
          translated("{1}: where {2} looks", rows.place(), row.query_names.in_prose(query));
      if (query == first) introduce(layer, rows, row, options, layers, explanation);
      explain_row(row, explanation);
      output.add(explanation, facts_about(layer, head, options, query));
    }
  }
}

std::string left_out_text(const std::vector<std::string>& tensors) {
  std::string names;
  for (const std::string& name : tensors) {
    names += (names.empty() ? "" : translated(", ")) + in_quotes(name);
  }
  return translated("the explanation leaves out {1}: name one of them to explain it", names);
}

}  // namespace

ExplainOutcome explained_maps(const ExplainOptions& options, const MapFiles& files) {
  MapRequest request = request_of(options);
  const bool named = request.selection.chosen_heads || options.head > 0;
  const std::size_t head = named ? options.head : options.document.heads.value_or(0);
  request.selection = selection_of_maps(request.selection, options.document);
  FiledMaps stack(files, request);
  const bool chosen = chooses_layers(request);
  const std::vector<AttentionMap> layers = chosen ? stack.chosen() : std::vector{stack.one()};
  const MapChoice choice{options.sample, head, request.selection};
  ExplainOutcome outcome;
  const bool list = options.every_query || layers.size() > 1 ||
                    request.selection.heads == MapSelection::Shown::all;
  ExplanationOutput output(options.format, list);
  for (const AttentionMap& map : layers) {
    try {
      explain_layer(MapOfLayer(map, choice), options, stack.layers(), output);
    } catch (const Error& error) {
      throw placed(error, map);
    }
  }
  outcome.text = output.text();
  if (chosen && !stack.left_out().empty()) {
    outcome.warnings.push_back(left_out_text(stack.left_out()));
  }
  return outcome;
}

}  // namespace attn
