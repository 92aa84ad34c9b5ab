#include "pictures/selected_map.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "plot/text/token_labels.hpp"
#include "support/count_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string range_text(const PositionRange& range) {
  const auto end = [](const std::optional<std::int64_t>& position) {
    return position ? std::to_string(*position) : std::string();
  };
  return end(range.first) + ":" + end(range.end);
}

Positions positions_in(const std::optional<PositionRange>& range, std::size_t count,
                       const std::string& field, const char* noun, const char* nouns) {
  if (!range) return {0, count};
  const auto size = static_cast<std::int64_t>(count);
  const auto absolute = [&](std::int64_t position) {
    if (position >= -size && position <= size) return position < 0 ? position + size : position;
    throw input_error("the range " + range_text(*range) + " goes beyond the " +
                          count_text(count, noun, nouns) + " there " + (count == 1 ? "is" : "are"),
                      field, "give positions from 0 to " + std::to_string(count));
  };
  const std::int64_t first = absolute(range->first.value_or(0));
  const std::int64_t end = absolute(range->end.value_or(size));
  if (first >= end) {
    throw input_error(
        "the range " + range_text(*range) + " holds none of the " + count_text(count, noun, nouns),
        field, "give a start that stands before the end");
  }
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(end)};
}

// A matrix on its way from one head to what is drawn.
struct Shown {
  std::size_t rows = 0, columns = 0;
  std::vector<double> weights;
  std::vector<std::uint8_t> allowed;  // empty = unknown
};

// Of all heads, for the mean or the largest; a cell is allowed if it is in any head.
Shown of_heads(const SelectedMaps& maps, std::size_t sample, std::size_t first, std::size_t end) {
  Shown shown{maps.weights.queries(), maps.weights.keys(), {}, {}};
  const bool largest = maps.selection.heads == MapSelection::Heads::max;
  for (std::size_t head = first; head < end; ++head) {
    const Tensor matrix = maps.weights.matrix(sample, head).converted(DType::float64);
    const auto values = matrix.values<double>();
    if (head == first) {
      shown.weights.assign(values.begin(), values.end());
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) {
        double& weight = shown.weights[i];
        // A NaN in any head shows.
        weight = !largest ? weight + values[i]
                          : (values[i] > weight || std::isnan(values[i]) ? values[i] : weight);
      }
    }
    if (!maps.allowed || maps.selection.hide_mask) continue;
    const Tensor mask = maps.allowed->matrix(sample, head).converted(DType::boolean);
    const auto allowed = mask.values<std::uint8_t>();
    shown.allowed.resize(allowed.size());
    for (std::size_t i = 0; i < allowed.size(); ++i) shown.allowed[i] |= allowed[i];
  }
  if (!largest) {
    for (double& weight : shown.weights) weight /= static_cast<double>(end - first);
  }
  return shown;
}

Shown part_of(const Shown& whole, const Positions& queries, const Positions& keys) {
  Shown part{queries.count(), keys.count(), {}, {}};
  for (std::size_t i = queries.first; i < queries.end; ++i) {
    const auto from = static_cast<std::ptrdiff_t>(i * whole.columns + keys.first);
    const auto to = static_cast<std::ptrdiff_t>(i * whole.columns + keys.end);
    part.weights.insert(part.weights.end(), whole.weights.begin() + from,
                        whole.weights.begin() + to);
    if (whole.allowed.empty()) continue;
    part.allowed.insert(part.allowed.end(), whole.allowed.begin() + from,
                        whole.allowed.begin() + to);
  }
  return part;
}

// A row of zeros stays one.
void renormalize(Shown& shown) {
  for (std::size_t i = 0; i < shown.rows; ++i) {
    double* row = shown.weights.data() + i * shown.columns;
    double sum = 0;
    for (std::size_t j = 0; j < shown.columns; ++j) sum += row[j];
    if (sum == 0) continue;
    for (std::size_t j = 0; j < shown.columns; ++j) row[j] /= sum;
  }
}

// What a word's keys weigh together, and what its queries look at on average.
Shown merged(const Shown& pieces, const std::vector<Word>& queries, const std::vector<Word>& keys) {
  Shown words{queries.size(), keys.size(), {}, {}};
  words.weights.reserve(words.rows * words.columns);
  for (const Word& query : queries) {
    for (const Word& key : keys) {
      double sum = 0;
      std::uint8_t allowed = 0;
      for (std::size_t i = query.first; i < query.end; ++i) {
        for (std::size_t j = key.first; j < key.end; ++j) {
          sum += pieces.weights[i * pieces.columns + j];
          if (!pieces.allowed.empty()) allowed |= pieces.allowed[i * pieces.columns + j];
        }
      }
      words.weights.push_back(sum / static_cast<double>(query.end - query.first));
      if (!pieces.allowed.empty()) words.allowed.push_back(allowed);
    }
  }
  return words;
}

std::vector<Word> words_or_positions(const std::vector<std::string>& labels, TokenSpelling spelling,
                                     std::size_t count) {
  if (!labels.empty()) return words_of(labels, spelling);
  std::vector<Word> words;
  for (std::size_t i = 0; i < count; ++i) words.push_back({"", i, i + 1});
  return words;
}

void keep_words(std::vector<std::string>& labels, const std::vector<Word>& words) {
  if (labels.empty()) return;
  labels.clear();
  for (const Word& word : words) labels.push_back(word.text);
}

// "(Layer 2, Sample 1, Head 1, without the First Key, Renormalised)".
std::string place_text(const SelectedMaps& maps, std::size_t sample, std::size_t head) {
  const MapSelection& selection = maps.selection;
  const std::string between = translated(", ");
  std::string place = maps.where.empty() ? "" : maps.where + between;
  place += translated("Sample {1}", sample + 1) + between;
  const std::string heads = translated_count(maps.weights.heads(), "{1} Head", "{1} Heads");
  switch (selection.heads) {
    case MapSelection::Heads::mean:
      place += translated("Mean of {1}", heads);
      break;
    case MapSelection::Heads::max:
      place += translated("Largest of {1}", heads);
      break;
    case MapSelection::Heads::all:
      place += heads;
      break;
    case MapSelection::Heads::one:
      place += translated("Head {1}", head + 1);
      break;
  }
  if (const std::string keys = keys_text(selection); !keys.empty()) place += between + keys;
  return translated("({1})", place);
}

}  // namespace

bool heads_together(const MapSelection& selection) {
  return selection.heads == MapSelection::Heads::mean ||
         selection.heads == MapSelection::Heads::max;
}

std::vector<std::string> part_of(const std::vector<std::string>& labels,
                                 const Positions& positions) {
  if (labels.empty()) return {};
  return {labels.begin() + static_cast<std::ptrdiff_t>(positions.first),
          labels.begin() + static_cast<std::ptrdiff_t>(positions.end)};
}

bool MapSelection::plain() const {
  return !heads_together(*this) && !queries && !keys && drop_first == 0 && !renormalize &&
         !merge_pieces;
}

Positions selected_queries(const MapSelection& selection, std::size_t count) {
  return positions_in(selection.queries, count, "MapSelection::queries", "query", "queries");
}

Positions selected_keys(const MapSelection& selection, std::size_t count) {
  Positions keys = positions_in(selection.keys, count, "MapSelection::keys", "key", "keys");
  if (selection.drop_first >= keys.end) {
    throw input_error("without the first " + std::to_string(selection.drop_first) +
                          " no key is left of " + count_text(count, "key"),
                      "MapSelection::drop_first",
                      "give a number from 0 to " + std::to_string(keys.end - 1));
  }
  keys.first = std::max(keys.first, selection.drop_first);
  return keys;
}

std::string keys_text(const MapSelection& selection) {
  std::string text;
  if (selection.drop_first > 0) {
    text = translated_count(selection.drop_first, "without the First Key",
                            "without the First {1} Keys");
  }
  if (selection.renormalize)
    text += (text.empty() ? "" : translated(", ")) + translated("Renormalised");
  return text;
}

std::string place_text(const SelectedMaps& maps) {
  return place_text(maps, maps.sample, maps.head);
}

std::string where_of(std::string_view tensor) {
  std::string where;
  const char* layer_of = to_translate("Layer {1}");
  const auto add = [&](const std::string& words) {
    where += (where.empty() ? "" : translated(", ")) + words;
  };
  std::string_view before;
  for (std::size_t end = tensor.find('.'); end != tensor.npos; end = tensor.find('.')) {
    const std::string_view part = tensor.substr(0, end);
    tensor.remove_prefix(end + 1);
    if (part == "encoder") layer_of = to_translate("Encoder Layer {1}");
    if (part == "decoder") layer_of = to_translate("Decoder Layer {1}");
    if (part == "self") add(translated("Self-Attention"));
    if (part == "cross") add(translated("Cross-Attention"));
    std::size_t layer = 0;
    const char* const last = part.data() + part.size();
    if (before == "layers" && std::from_chars(part.data(), last, layer).ptr == last) {
      add(translated(layer_of, layer + 1));
    }
    before = part;
  }
  return where;
}

std::string sort_of(std::string_view tensor) {
  constexpr std::string_view layers = "layers.";
  const std::size_t at = tensor.find(layers);
  if (at == tensor.npos) return std::string(tensor);
  const std::size_t number = at + layers.size();
  const std::size_t end = tensor.find('.', number);
  if (end == tensor.npos) return std::string(tensor);
  return std::string(tensor.substr(0, number)) + std::string(tensor.substr(end + 1));
}

Heatmap selected_heatmap(const SelectedMaps& maps) {
  return selected_heatmap(maps, maps.sample, maps.head);
}

Heatmap selected_heatmap(const SelectedMaps& maps, std::size_t sample, std::size_t head) {
  const MapSelection& selection = maps.selection;
  Heatmap heatmap =
      chosen_heatmap(maps.weights, maps.allowed, maps.labels, maps.title, sample, head);
  if (selection.hide_mask) heatmap.allowed = {};
  const std::string place = place_text(maps, sample, head);
  heatmap.title = maps.title.empty() ? translated("Attention Weight Heatmap {1}", place)
                                     : maps.title + "\n" + place;
  if (selection.plain()) return heatmap;

  // 1. The heads.
  Shown shown = heads_together(selection) ? of_heads(maps, sample, 0, maps.weights.heads())
                                          : of_heads(maps, sample, head, head + 1);
  // 2. The positions.
  const Positions queries = selected_queries(selection, shown.rows);
  const Positions keys = selected_keys(selection, shown.columns);
  shown = part_of(shown, queries, keys);
  // A part of the labels may hold no sign of how they are spelled.
  const auto spelling = token_spelling({&heatmap.query_labels, &heatmap.key_labels});
  heatmap.query_labels = part_of(heatmap.query_labels, queries);
  heatmap.key_labels = part_of(heatmap.key_labels, keys);
  heatmap.first_query = queries.first;
  heatmap.first_key = keys.first;
  if (selection.renormalize) renormalize(shown);
  // 3. The words.
  if (selection.merge_pieces) {
    if (heatmap.query_labels.empty() && heatmap.key_labels.empty()) {
      throw input_error("there are no labels that tell which pieces make a word",
                        "MapSelection::merge_pieces",
                        "give the tokens as labels: {\"query\": […], \"key\": […]}");
    }
    const auto query_words = words_or_positions(heatmap.query_labels, spelling, shown.rows);
    const auto key_words = words_or_positions(heatmap.key_labels, spelling, shown.columns);
    shown = merged(shown, query_words, key_words);
    keep_words(heatmap.query_labels, query_words);
    keep_words(heatmap.key_labels, key_words);
  }
  const Shape shape = {shown.rows, shown.columns};
  heatmap.weights = Tensor(shape, std::move(shown.weights));
  heatmap.allowed = shown.allowed.empty() ? Tensor() : Tensor(shape, std::move(shown.allowed));
  return heatmap;
}

HeatmapGrid selected_heads(const SelectedMaps& maps) {
  HeatmapGrid grid{1, maps.weights.heads(), {}};
  for (std::size_t head = 0; head < grid.columns; ++head) {
    grid.panels.push_back(selected_heatmap(maps, maps.sample, head));
    grid.panels.back().title = translated("Head {1}", head + 1);
  }
  return grid;
}

HeatmapGrid selected_grid(const SelectedMaps& maps) {
  const bool together = heads_together(maps.selection);
  const bool one_sample = maps.selection.one_sample;
  HeatmapGrid grid{
      one_sample ? 1 : maps.weights.samples(), together ? 1 : maps.weights.heads(), {}};
  const bool several = grid.rows * grid.columns > 1;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    const std::size_t sample = one_sample ? maps.sample : row;
    for (std::size_t head = 0; head < grid.columns; ++head) {
      Heatmap panel = selected_heatmap(maps, sample, head);
      panel.title = several && !together ? translated("Head {1}", head + 1) : "";
      grid.panels.push_back(std::move(panel));
    }
    if (grid.rows > 1) grid.row_titles.push_back(translated("Sample {1}", sample + 1));
  }
  return grid;
}

HeadLines selected_lines(const SelectedMaps& maps) {
  const std::string place = place_text(maps);
  HeadLines lines;
  lines.title = maps.title.empty() ? translated("Attention between Tokens {1}", place)
                                   : maps.title + " " + place;
  if (maps.selection.heads == MapSelection::Heads::all) {
    lines.heads = selected_heads(maps).panels;
  } else {
    lines.heads.push_back(selected_heatmap(maps));
  }
  return lines;
}

}  // namespace attn
