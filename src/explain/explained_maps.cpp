#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
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
  return selection.layers || !request.others.empty() || selection.joins_layers();
}

/// One layer of the maps, of which heads are taken.
class MapOfLayer {
 public:
  MapOfLayer(const AttentionMap& map, const MapChoice& choice) : selected_(map, choice) {
    selected_.first_number = 0;
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

  std::string query_name(std::size_t query) const {
    return position_name(query_labels_, query, "{1}");
  }

  std::string place() const {
    const std::string heads =
        !layer_.heads_are_one() ? translated("Head {1}", head_) : layer_.heads_in_words();
    return layer_.where().empty() ? heads : layer_.where() + translated(", ") + heads;
  }

  std::string head_of_all() const {
    return layer_.heads_are_one() ? place()
                                  : translated("head {1} of {2}", head_, layer_.all_heads());
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
          ? translated("each of the {1} queries", layer.queries())
          : translated("query {1} of {2}", head.query_name(row.query), layer.queries());
  to.item(translated("sample {1} of {2}, {3}, {4}, all counted from 0", options.sample,
                     layer.samples(), head.head_of_all(), query));
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

namespace {

using Numbers = std::vector<double>;

constexpr std::size_t most_in_order = 10;
/// Sums of weights that were rounded to bfloat16 are as near to one as this.
constexpr double rounding = 0.01;

/// Counts of a row, made once.
struct RowCount {
  double sum = 0;
  std::size_t nan = 0, negative = 0, positive = 0;
  std::vector<std::size_t> order;  ///< keys, the heaviest first; equal ones in their own order

  /// Whether shares of the sum have a meaning.
  bool shares() const { return nan == 0 && negative == 0 && sum > 0 && std::isfinite(sum); }
};

RowCount counted(const MapRow& row) {
  RowCount count;
  for (const double weight : row.weights) {
    count.nan += std::isnan(weight) ? 1 : 0;
    count.negative += weight < 0 ? 1 : 0;
    count.positive += weight > 0 ? 1 : 0;
  }
  count.sum = std::accumulate(row.weights.begin(), row.weights.end(), 0.0);
  count.order.resize(row.weights.size());
  std::iota(count.order.begin(), count.order.end(), std::size_t{0});
  std::stable_sort(count.order.begin(), count.order.end(), [&](std::size_t a, std::size_t b) {
    const double x = row.weights[a], y = row.weights[b];
    return std::isnan(x) != std::isnan(y) ? std::isnan(x) : x > y;
  });
  return count;
}

std::string sum_text(const RowCount& count) {
  const std::string sum = shown_number(count.sum);
  if (count.nan > 0) {
    return translated_count(count.nan,
                            "{1} of the weights is not a number (nan), and so is their sum.",
                            "{1} of the weights are not numbers (nan), and so is their sum.");
  }
  if (count.negative > 0) {
    return translated_count(count.negative,
                            "The sum of the row is {2}, and {1} number is negative: a softmax "
                            "makes no such weights.",
                            "The sum of the row is {2}, and {1} numbers are negative: a softmax "
                            "makes no such weights.",
                            sum);
  }
  if (count.sum == 0) {
    return translated("All weights are 0: no key is left for this query, or it is padding itself.");
  }
  if (std::abs(count.sum - 1) <= rounding) {
    return translated("The weights sum to {1}, as those of a softmax do.", sum);
  }
  return count.sum < 1
             ? translated(
                   "The weights sum to {1}. The rest, {2}, may have gone to a sink, to dropout, to "
                   "keys that are not in the map, or to keys whose weights were set to 0 after "
                   "the softmax.",
                   sum, shown_number(1 - count.sum))
             : translated(
                   "The weights sum to {1}, more than those of a softmax: as after dropout, "
                   "or as the largest of several heads do.",
                   sum);
}

void explain_weights_of(const MapRow& row, const RowCount& count, Explanation& to) {
  to.step(translated("The row of the map"));
  to.paragraph(sum_text(count));
  Excerpt keys = to.excerpt(row.weights.size(), most_keys, first_keys, last_keys);
  for (std::size_t i = 0; i < std::min(heaviest_keys, count.order.size()); ++i) {
    keys.include(count.order[i]);
  }
  Explanation::Column key{translated("key"), {}, false, translated("sum")};
  Explanation::Column mask{translated("mask"), {}, false, {}};
  Numbers shown;
  for (const std::size_t j : keys.indices()) {
    key.cells.push_back(row.key_names.in_table(j));
    shown.push_back(row.weights[j]);
    if (!row.allowed.empty()) {
      mask.cells.push_back(row.allowed[j] == 0 ? translated("hidden") : std::string());
    }
  }
  std::vector<Explanation::Column> columns{std::move(key),
                                           number_column(translated("weight"), shown, count.sum)};
  if (std::count(row.allowed.begin(), row.allowed.end(), 0) > 0) columns.push_back(std::move(mask));
  to.put(Explanation::Table{std::move(columns), std::move(keys), keys_left_out});
}

std::size_t rank_of(const RowCount& count, std::size_t key) {
  return static_cast<std::size_t>(std::find(count.order.begin(), count.order.end(), key) -
                                  count.order.begin()) +
         1;
}

// Weights on the positions that heads often look at.
void explain_positions(const MapRow& row, const RowCount& count, Explanation& to) {
  if (!row.same_positions) return;
  const std::size_t last = row.weights.size() - 1, own = row.query;
  const auto item = [&](const char* words, std::size_t key) {
    to.item(translated("{1}: {2} has {3}, number {4} in the order", translated(words),
                       row.key_names.in_prose(key), shown_number(row.weights[key]),
                       rank_of(count, key)));
  };
  item(to_translate("its own position"), own);
  if (own > 0) item(to_translate("the one before"), own - 1);
  if (own < last) item(to_translate("the one after"), own + 1);
  if (own > 1) item(to_translate("the first"), 0);
}

// The fewest of the largest weights that hold a share of the sum.
std::size_t fewest_with(double share, const MapRow& row, const RowCount& count) {
  double held = 0;
  for (std::size_t i = 0; i < count.order.size(); ++i) {
    held += row.weights[count.order[i]];
    if (held >= share * count.sum) return i + 1;
  }
  return count.order.size();
}

void explain_order(const MapRow& row, const RowCount& count, Explanation& to) {
  to.step(translated("The keys in the order of their weights"));
  // The last of 11 keys takes no more room than the line that would count it.
  const Excerpt ranks = to.excerpt(count.order.size(), most_in_order + 1, most_in_order, 0);
  Explanation::Column key{translated("key"), {}, false, {}};
  Numbers rank, weights, so_far;
  double sum = 0;
  for (const std::size_t i : ranks.indices()) {
    const double weight = row.weights[count.order[i]];
    sum += weight;
    rank.push_back(static_cast<double>(i + 1));
    key.cells.push_back(row.key_names.in_table(count.order[i]));
    weights.push_back(weight);
    so_far.push_back(sum);
  }
  std::vector<Explanation::Column> columns{number_column(translated("rank"), rank), std::move(key),
                                           number_column(translated("weight"), weights)};
  if (count.shares()) columns.push_back(number_column(translated("so far"), so_far));
  const std::size_t left = count.order.size() - rank.size();
  to.put(Explanation::Table{std::move(columns), ranks, keys_left_out});
  if (!count.shares()) return;
  if (left > 0) {
    to.paragraph(translated_count(left, "The key that is left out has {2} of the sum {3}.",
                                  "The {1} keys that are left out have {2} of the sum {3}.",
                                  shown_number(std::max(count.sum - sum, 0.0)),
                                  shown_number(count.sum)));
  }
  to.paragraph(translated("Half of the sum lies on {1}, nine tenths on {2}.",
                          translated_count(fewest_with(0.5, row, count), "{1} key", "{1} keys"),
                          translated_count(fewest_with(0.9, row, count), "{1} key", "{1} keys")));
  explain_positions(row, count, to);
}

void explain_spread(const MapRow& row, const RowCount& count, Explanation& to) {
  const std::size_t hidden =
      static_cast<std::size_t>(std::count(row.allowed.begin(), row.allowed.end(), 0));
  const std::size_t seen = std::max(row.weights.size() - hidden, count.positive);
  to.step(translated("How spread out the weights are"));
  to.formula(translated("H = -Σ p[j]·ln p[j], p[j] = weight[j] / sum"),
             "H = -\\sum_j p_j \\ln p_j, \\qquad p_j = \\frac{w_j}{\\sum_t w_t}");
  double entropy = 0;
  std::size_t above = 0;
  const auto keys = static_cast<double>(seen);
  for (const double weight : row.weights) {
    const double share = weight / count.sum;
    if (share > 0) entropy -= share * std::log(share);
    above += share > 1 / keys ? 1 : 0;
  }
  entropy = std::max(entropy, 0.0);  // no -0 of a weight of one
  const double most = std::log(keys);
  to.paragraph(translated("The entropy is H = {1} nats, {2} bits.", shown_number(entropy),
                          shown_number(entropy / std::log(2.0))));
  if (seen == 1) {
    to.paragraph(translated("Only one key can be seen, so it cannot be more."));
    return;
  }
  to.paragraph(translated(
      "The largest entropy of {1} keys is ln({1}) = {2}, where all weigh the same, {3}: here it is "
      "{4} of that. The weights are as spread out as exp(H) = {5} keys of equal weight.",
      seen, shown_number(most), shown_number(count.sum / keys), shown_number(entropy / most),
      shown_number(std::exp(entropy))));
  to.paragraph(translated_count(above, "{1} of the {2} keys has more than its equal share.",
                                "{1} of the {2} keys have more than their equal share.", seen));
}

// "key 2, key 5 to key 9" of the keys for which `is` holds.
std::string listed(const MapRow& row, const std::vector<bool>& is) {
  std::string list;
  for (std::size_t j = 0; j < is.size(); ++j) {
    if (!is[j]) continue;
    std::size_t last = j;
    while (last + 1 < is.size() && is[last + 1]) ++last;
    if (!list.empty()) list += translated(", ");
    list += last == j
                ? row.key_names.in_prose(j)
                : translated("{1} to {2}", row.key_names.in_prose(j), row.key_names.in_prose(last));
    j = last;
  }
  return list;
}

void explain_hidden(const MapRow& row, Explanation& to) {
  to.step(translated("What is hidden"));
  std::vector<bool> hidden(row.weights.size()), zero(row.weights.size());
  double held = 0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    hidden[j] = !row.allowed.empty() && row.allowed[j] == 0;
    zero[j] = row.weights[j] == 0 && !hidden[j];
    if (hidden[j]) held += row.weights[j];
  }
  const auto hiding = static_cast<std::size_t>(std::count(hidden.begin(), hidden.end(), true));
  const auto zeros = static_cast<std::size_t>(std::count(zero.begin(), zero.end(), true));
  if (row.allowed.empty()) {
    if (std::ranges::any_of(row.weights, [](double weight) { return std::isnan(weight); })) {
      return to.paragraph(
          translated("The file does not say which keys a mask hides, and weights that are not "
                     "numbers do not tell."));
    }
    to.paragraph(
        zeros == 0
            ? translated("The file does not say which keys a mask hides. No weight is exactly 0, "
                         "so none is hidden unless its score was filled with a finite number.")
            : translated_count(zeros,
                               "The file does not say which keys a mask hides. {1} weight is "
                               "exactly 0, like that of a hidden key: {2}.",
                               "The file does not say which keys a mask hides. {1} weights are "
                               "exactly 0, like those of hidden keys: {2}.",
                               listed(row, zero)));
    return;
  }
  to.paragraph(hiding == 0 ? translated("The mask hides no key from this query.")
                           : translated_count(hiding, "The mask hides {1} key of {2}: {3}.",
                                              "The mask hides {1} keys of {2}: {3}.",
                                              row.weights.size(), listed(row, hidden)));
  if (held != 0) {
    to.paragraph(
        translated("They have weights nevertheless, {1} in sum: their scores were filled with a "
                   "finite number.",
                   shown_number(held)));
  }
  if (zeros > 0) {
    to.paragraph(translated_count(
        zeros, "{1} key can be seen and has the weight 0 nevertheless: {2}.",
        "{1} keys can be seen and have the weight 0 nevertheless: {2}.", listed(row, zero)));
  }
}

}  // namespace

void explain_row(const MapRow& row, Explanation& explanation) {
  const RowCount count = counted(row);
  explain_weights_of(row, count, explanation);
  if (count.nan == 0 && count.sum != 0) explain_order(row, count, explanation);
  if (count.shares()) explain_spread(row, count, explanation);
  explain_hidden(row, explanation);
}

}  // namespace attn
