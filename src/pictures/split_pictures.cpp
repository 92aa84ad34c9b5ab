#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pictures/drawing.hpp"
#include "plot/axes/axes.hpp"
#include "plot/numbers/ticks.hpp"
#include "plot/parts.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Runs whose options ask for no such split draw none of these pictures.
const ScoreSplit& score_in(const Drawing& drawing) {
  return *drawing.split.splits->scores;
}
const LogitSplit& logit_in(const Drawing& drawing) {
  return *drawing.split.splits->logit;
}

bool has_score(const Drawing& drawing) {
  return drawing.split.splits->scores.has_value();
}

std::string token_name(const std::vector<std::string>& tokens, std::size_t position) {
  return position_name(tokens, position, to_translate("token {1}"));
}

/// The pair of a head's scores that pictures show, with the tokens on both sides.
struct ShownScore {
  const ScoreSplit& split;
  std::size_t pair, query, key;
  bool crosses;
  const std::vector<std::string>& read;  ///< tokens of the encoder, where there is one
  const std::vector<std::string>&queries, &keys;

  explicit ShownScore(const Drawing& drawing)
      : split(score_in(drawing)),
        pair(split.strongest_pair()),
        query(split.pairs[pair].first),
        key(split.pairs[pair].second),
        crosses(split.head.crosses()),
        read(drawing.split.read),
        queries(split.head.stack == ModelPlace::Stack::encoder ? read : drawing.split.tokens),
        keys(crosses ? read : queries) {}

  std::string title() const {
    return translated("Why Head {1} Looks from {2} at {3}", split.head.text(),
                      token_name(queries, query), token_name(keys, key));
  }
  // The name of a part, with the token that its head looked at.
  std::string part_name(std::size_t part, bool of_key) const {
    const ModelPlace& place = (of_key ? split.key_parts : split.query_parts)[part];
    if (of_key && crosses) return place.text();
    const auto source = split.looked_at(part, of_key ? key : query);
    if (!source) return place.text();
    return place.text() + " ← " + token_name(place.crosses() ? read : queries, *source);
  }
};

std::string logit_title(const Drawing& drawing, const LogitSplit& split) {
  const auto& [token, against] = std::tie(drawing.split.token, drawing.split.against);
  if (split.label) {
    return against.empty() ? translated("Why {1}", token)
                           : translated("Why {1} and Not {2}", token, against);
  }
  const std::string after = token_name(drawing.split.tokens, split.position);
  return against.empty() ? translated("Why {1} after {2}", token, after)
                         : translated("Why {1} and Not {2} after {3}", token, against, after);
}

// What the numbers of a split add up to.
std::string contribution_name(const LogitSplit& split) {
  return split.against ? translated("Contribution to the difference of the logits")
                       : translated("Contribution to the logit");
}

/// Parts of one side that have a row of their own, in their order; the others share one.
struct ShownParts {
  std::vector<std::vector<std::size_t>> rows;
  std::vector<std::string> names;

  ShownParts(const std::vector<ModelPlace>& parts, std::span<const double> sums) {
    constexpr std::size_t most = 24;
    std::vector<std::size_t> own = by_size(sums);
    std::vector<std::size_t> others;
    if (own.size() > most) {
      others.assign(own.begin() + most - 1, own.end());
      own.resize(most - 1);
    }
    std::sort(own.begin(), own.end());
    for (const std::size_t part : own) {
      rows.push_back({part});
      names.push_back(parts[part].text());
    }
    if (others.empty()) return;
    names.push_back(translated_count(others.size(), "{1} other part", "{1} other parts"));
    rows.push_back(std::move(others));
  }
};

/// Nodes and edges as they are found, each node once.
class PathMaker {
 public:
  /// Rows of the embedding, of the layers, and of the whole.
  PathMaker(std::size_t layers, std::string whole) {
    graph_.rows.push_back(translated("Embedding"));
    for (std::size_t n = 0; n < layers; ++n) graph_.rows.push_back(translated("Layer {1}", n));
    if (!whole.empty()) graph_.rows.push_back(std::move(whole));
  }

  /// A column for each position that is named, in the order of the text, the read text first.
  using Place = std::pair<bool, std::size_t>;  // of the text itself, position

  std::size_t node(const std::string& key, std::size_t row, const Place& place, std::string name) {
    const auto [at, is_new] = numbers_.try_emplace(key, graph_.nodes.size());
    if (is_new) {
      graph_.nodes.push_back({row, 0, std::move(name)});
      places_.push_back(place);
    }
    return at->second;
  }

  /// The node of a part at a position; a head's has an edge from what it looked at.
  std::size_t part(const ModelPlace& part, const Place& place, const std::optional<Place>& source) {
    const std::string name = part.text();
    const std::string key = name + "@" + std::to_string(place.first) + std::to_string(place.second);
    const bool is_new = !numbers_.contains(key);
    const std::size_t row = part.in_layer() ? part.layer + 1 : 0;
    const std::size_t own = node(key, row, place, name);
    if (!is_new || !source) return own;
    const std::string below = std::to_string(row - 1) + "@" + std::to_string(source->first) +
                              std::to_string(source->second);
    graph_.edges.push_back({node(below, row - 1, *source, ""), own, 0});
    return own;
  }

  void add(std::size_t from, std::size_t to, double share) { sums_[{from, to}] += share; }

  PathGraph finish(const std::vector<std::string>& tokens, const std::vector<std::string>& read) {
    std::map<Place, std::size_t> columns;
    for (const Place& place : places_) columns.emplace(place, 0);
    for (auto& [place, column] : columns) {
      column = graph_.columns.size();
      graph_.columns.push_back(token_name(place.first ? tokens : read, place.second));
    }
    for (std::size_t n = 0; n < places_.size(); ++n) graph_.nodes[n].column = columns[places_[n]];
    double largest = 0;
    for (const auto& [edge, sum] : sums_) largest = std::max(largest, std::abs(sum));
    for (const auto& [edge, sum] : sums_) {
      if (sum != 0)
        graph_.edges.push_back({edge.first, edge.second, sum / largest, plot::short_number(sum)});
    }
    return std::move(graph_);
  }

 private:
  PathGraph graph_;
  std::vector<Place> places_;
  std::map<std::string, std::size_t> numbers_;
  std::map<std::pair<std::size_t, std::size_t>, double> sums_;
};

PathGraph path_of(const Drawing& drawing, const ShownScore& shown) {
  constexpr std::size_t most_terms = 6;
  const ScoreSplit& split = shown.split;
  const std::size_t A = split.query_parts.size(), B = split.key_parts.size();
  const auto terms = split.parts.values<double>().subspan(shown.pair * A * B, A * B);
  const std::size_t layer = split.head.layer;
  PathMaker path(layer + 1, "");
  const PathMaker::Place query{true, shown.query}, key{!shown.crosses, shown.key};
  const std::size_t whole = path.node("", layer + 1, query, split.head.text());
  const auto side = [&](std::size_t part, bool of_key) {
    const ModelPlace& place = (of_key ? split.key_parts : split.query_parts)[part];
    std::optional<PathMaker::Place> source;
    if (!(of_key && shown.crosses)) {
      const auto at = split.looked_at(part, of_key ? shown.key : shown.query);
      if (at) source.emplace(!place.crosses(), *at);
    }
    return path.part(place, of_key ? key : query, source);
  };
  const std::vector<std::size_t> order = by_size(terms);
  for (std::size_t n = 0; n < std::min(most_terms, order.size()); ++n) {
    const double term = terms[order[n]];
    if (term == 0) break;
    path.add(side(order[n] / B, false), whole, term);
    path.add(side(order[n] % B, true), whole, term);
  }
  PathGraph graph = path.finish(shown.queries, drawing.split.read);
  graph.remark =
      translated("numbers: of the {1} strongest terms", std::min(most_terms, order.size()));
  return graph;
}

// The key that a head took most from, of the rows of its heads.
std::optional<PathMaker::Place> source_of(const LogitSplit& split, const ModelPlace& part) {
  const auto find = [&](const std::vector<ModelPlace>& heads, const Tensor& rows,
                        bool own) -> std::optional<PathMaker::Place> {
    const auto at = std::find(heads.begin(), heads.end(), part);
    if (at == heads.end() || !rows) return std::nullopt;
    const std::size_t keys = rows.shape()[1];
    const auto row =
        rows.values<double>().subspan(static_cast<std::size_t>(at - heads.begin()) * keys, keys);
    return PathMaker::Place{own, by_size(row).front()};
  };
  const auto own = find(split.heads, split.tokens, true);
  return own ? own : find(split.cross_heads, split.cross_tokens, false);
}

PathGraph path_of(const Drawing& drawing, const LogitSplit& split) {
  constexpr std::size_t most_parts = 8;
  const auto layers = static_cast<std::size_t>(
      std::ranges::count(split.places, ModelPlace::Part::feed_forward, &ModelPlace::part));
  PathMaker path(layers, split.against ? translated("Logits") : translated("Logit"));
  const PathMaker::Place place{true, split.position};
  const auto& [token, against] = std::tie(drawing.split.token, drawing.split.against);
  const std::size_t whole =
      path.node("", layers + 1, place, against.empty() ? token : token + " − " + against);
  const auto parts = split.parts.values<double>();
  const std::vector<std::size_t> order = by_size(parts);
  for (std::size_t n = 0; n < std::min(most_parts, order.size()); ++n) {
    const ModelPlace& part = split.places[order[n]];
    if (parts[order[n]] != 0) {
      path.add(path.part(part, place, source_of(split, part)), whole, parts[order[n]]);
    }
  }
  PathGraph graph = path.finish(drawing.split.tokens, drawing.split.read);
  graph.remark = translated("the {1} strongest parts", std::min(most_parts, order.size()));
  return graph;
}

// Options whose axes are named by their ticks, unless names are asked for.
PlotOptions with_bar_label(const Drawing& drawing, const std::string& label) {
  PlotOptions plot = drawing.options;
  if (!plot.colors.bar_label) plot.colors.bar_label = label;
  return plot;
}

void add_bars(BarChart& chart, std::span<const double> numbers, std::size_t group,
              const std::function<std::string(std::size_t)>& name) {
  constexpr std::size_t most = 12;
  const std::vector<std::size_t> order = by_size(numbers);
  for (std::size_t n = 0; n < std::min(most, order.size()); ++n) {
    if (numbers[order[n]] != 0) chart.bars.push_back({name(order[n]), numbers[order[n]], group});
  }
}

}  // namespace

Picture draw_parts(const Drawing& drawing) {
  const ShownScore shown(drawing);
  const ScoreSplit& split = shown.split;
  const std::size_t A = split.query_parts.size(), B = split.key_parts.size();
  const auto terms = split.parts.values<double>().subspan(shown.pair * A * B, A * B);
  const ScoreSplit::Sides sides = split.sides(shown.pair);
  const ShownParts query(split.query_parts, sides.query), key(split.key_parts, sides.key);
  std::vector<double> numbers;
  for (const auto& a : query.rows) {
    for (const auto& b : key.rows) {
      double sum = 0;
      for (const std::size_t i : a) {
        for (const std::size_t j : b) sum += terms[i * B + j];
      }
      numbers.push_back(sum);
    }
  }
  Heatmap map;
  map.weights = Tensor({query.rows.size(), key.rows.size()}, std::move(numbers));
  map.query_labels = query.names;
  map.key_labels = key.names;
  map.any_numbers = true;
  map.title = shown.title();
  PlotOptions plot = with_bar_label(drawing, translated("Contribution to the score"));
  if (!plot.figure.xlabel) plot.figure.xlabel = translated("Part of the Key");
  if (!plot.figure.ylabel) plot.figure.ylabel = translated("Part of the Query");
  return draw_heatmap(map, plot.heatmap(), drawing.format);
}

Picture draw_part_bars(const Drawing& drawing) {
  BarChart chart;
  if (has_score(drawing)) {
    const ShownScore shown(drawing);
    const ScoreSplit::Sides sides = shown.split.sides(shown.pair);
    chart.title = shown.title();
    chart.value_name = translated("Contribution to the score");
    chart.group_names = {translated("Parts of the Key"), translated("Parts of the Query")};
    const auto sum = [](const auto& terms) {
      return std::accumulate(terms.begin(), terms.end(), 0.0);
    };
    chart.group_sums = {sum(sides.key), sum(sides.query)};
    add_bars(chart, sides.key, 0, [&](std::size_t part) { return shown.part_name(part, true); });
    add_bars(chart, sides.query, 1, [&](std::size_t part) { return shown.part_name(part, false); });
  } else {
    const LogitSplit& split = logit_in(drawing);
    chart.title = logit_title(drawing, split);
    chart.value_name = contribution_name(split);
    chart.group_names = {""};
    add_bars(chart, split.parts.values<double>(), 0, [&](std::size_t part) {
      const auto source = source_of(split, split.places[part]);
      if (!source) return split.places[part].text();
      return split.places[part].text() + " ← " +
             token_name(source->first ? drawing.split.tokens : drawing.split.read, source->second);
    });
  }
  return draw_bars(chart, drawing.options.figure, drawing.format);
}

Picture draw_part_path(const Drawing& drawing) {
  PathGraph graph;
  if (has_score(drawing)) {
    const ShownScore shown(drawing);
    graph = path_of(drawing, shown);
    graph.title = shown.title();
  } else {
    const LogitSplit& split = logit_in(drawing);
    graph = path_of(drawing, split);
    graph.title = logit_title(drawing, split);
  }
  return draw_path(graph, drawing.options.figure, drawing.format);
}

plot::StackedBars bars_of_shares(const std::vector<AttentionName>& attentions,
                                 const std::vector<std::string>& parts,
                                 const std::vector<std::vector<std::vector<double>>>& means) {
  plot::StackedBars chart;
  for (const std::string& part : parts) chart.parts.push_back(printable(plot::shown_part(part)));
  for (std::size_t n = 0; n < means.size(); ++n) {
    for (std::size_t h = 0; h < means[n].size(); ++h)
      chart.rows.push_back({attentions[n].head_name(h), means[n][h]});
  }
  chart.title = translated("What the Answer Looks At");
  chart.value_name = translated("Share of the attention of generated tokens");
  return chart;
}

plot::StackedBars bars_of_shares(ResultReader& file) {
  const std::vector<std::string> layers = file.names_of_shares("layers");
  const std::vector<std::string> parts = file.names_of_shares("parts");
  const Tensor shares = layers.empty() ? Tensor() : file.numbers("shares");
  const Shape shape = shares ? shares.shape() : Shape();
  constexpr std::size_t axes = 4;  // layers, heads, tokens and parts, behind samples
  if (shape.size() < axes || shape[shape.size() - axes] != layers.size() ||
      shape.back() != parts.size()) {
    throw input_error(translated("the result holds no shares of an answer"), file.name(),
                      translated("compute it with DocumentOptions::generate and "
                                 "DocumentOptions::parts"));
  }
  const std::size_t heads = shape[shape.size() - 3], tokens = shape[shape.size() - 2];
  const Tensor converted = shares.converted(DType::float64);
  const auto numbers = converted.values<double>();
  std::vector<AttentionName> attentions;
  for (const std::string& layer : layers) attentions.emplace_back("layers." + layer + ".self");
  std::vector<std::vector<std::vector<double>>> means(
      layers.size(), std::vector<std::vector<double>>(heads, std::vector<double>(parts.size())));
  // Answers of several lengths have zeros behind their ends.
  std::vector<double> counts(layers.size() * heads);
  for (std::size_t row = 0; row < numbers.size() / parts.size(); ++row) {
    const auto own = numbers.subspan(row * parts.size(), parts.size());
    if (std::ranges::all_of(own, [](double share) { return share == 0; })) continue;
    const std::size_t at = row / tokens % (layers.size() * heads);
    ++counts[at];
    for (std::size_t part = 0; part < parts.size(); ++part)
      means[at / heads][at % heads][part] += own[part];
  }
  for (std::size_t at = 0; at < counts.size(); ++at) {
    for (double& sum : means[at / heads][at % heads]) sum /= std::max(1.0, counts[at]);
  }
  return bars_of_shares(attentions, parts, means);
}

Picture draw_shares(const Drawing& drawing) {
  FigureOptions figure = drawing.options.figure;
  if (!figure.ylabel) figure.ylabel = translated("Head");
  return plot::draw_stacked_bars(*drawing.shares, figure, drawing.format);
}

Picture draw_contributions(const Drawing& drawing) {
  const LogitSplit& split = logit_in(drawing);
  // Attentions with their layers, and the contributions in each of the columns: heads by their
  // numbers, then what else writes.
  constexpr std::size_t feed_forward = std::numeric_limits<std::size_t>::max(),
                        mixer = feed_forward - 1, layer_input = feed_forward - 2;
  std::vector<ModelPlace> attentions;
  std::vector<std::map<std::size_t, double>> rows;
  std::size_t heads = 0;
  for (std::size_t p = 0; p < split.places.size(); ++p) {
    const ModelPlace& place = split.places[p];
    if (!place.in_layer()) continue;
    auto at = std::ranges::find(attentions, place.whole());
    if (at == attentions.end()) {
      at = attentions.insert(at, place.whole());
      rows.emplace_back();
    }
    const std::size_t column =
        place.head.value_or(place.part == ModelPlace::Part::feed_forward  ? feed_forward
                            : place.part == ModelPlace::Part::layer_input ? layer_input
                                                                          : mixer);
    rows[static_cast<std::size_t>(at - attentions.begin())][column] =
        split.parts.values<double>()[p];
    if (place.head) heads = std::max(heads, *place.head + 1);
  }
  Heatmap map;
  std::vector<std::size_t> columns;
  const auto add = [&](std::size_t column, std::string title) {
    const auto has = [&](const auto& row) { return row.contains(column); };
    if (std::ranges::none_of(rows, has)) return;
    columns.push_back(column);
    map.key_labels.push_back(std::move(title));
  };
  for (std::size_t h = 0; h < heads; ++h) add(h, translated("Head {1}", h));
  add(mixer, translated("Mixer"));
  add(feed_forward, translated("Feed-Forward"));
  add(layer_input, translated("Layer Input"));
  std::vector<double> numbers;
  std::vector<std::uint8_t> missing;
  for (std::size_t n = 0; n < attentions.size(); ++n) {
    map.query_labels.push_back(
        ModelPlace{attentions[n].stack, attentions[n].layer}.attention().row_title());
    for (const std::size_t column : columns) {
      const auto part = rows[n].find(column);
      numbers.push_back(part == rows[n].end() ? std::numeric_limits<double>::quiet_NaN()
                                              : part->second);
      missing.push_back(part == rows[n].end() ? 1 : 0);
    }
  }
  const Shape shape{attentions.size(), columns.size()};
  map.weights = Tensor(shape, std::move(numbers));
  if (std::count(missing.begin(), missing.end(), 1) > 0) map.missing = Tensor(shape, missing);
  map.any_numbers = true;
  map.title = logit_title(drawing, split);
  PlotOptions plot = with_bar_label(drawing, contribution_name(split));
  if (!plot.figure.xlabel) plot.figure.xlabel = "";
  if (!plot.figure.ylabel) plot.figure.ylabel = "";
  return draw_heatmap(map, plot.heatmap(), drawing.format);
}

}  // namespace attn
