#include "maps/selected_map.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "maps/merged_words.hpp"
#include "plot/text/token_labels.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// A matrix on its way from one head to what is drawn.
struct Shown {
  std::size_t rows = 0, columns = 0;
  std::vector<double> weights;
  std::vector<std::uint8_t> allowed;  // empty = unknown
};

// Of all heads, for the mean or the largest; a cell is allowed if it is in any head.
Shown of_heads(const SelectedMaps& maps, std::size_t sample,
               const std::vector<std::size_t>& heads) {
  Shown shown{maps.weights.queries(), maps.weights.keys(), {}, {}};
  const bool largest = maps.selection.heads == MapSelection::Heads::max;
  for (const std::size_t head : heads) {
    const Tensor matrix = maps.weights.matrix(sample, head).converted(DType::float64);
    const auto values = matrix.values<double>();
    if (head == heads[0]) {
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
    for (double& weight : shown.weights) weight /= static_cast<double>(heads.size());
  }
  return shown;
}

Shown part_of(const Shown& whole, const Positions& queries, const std::vector<std::size_t>& keys) {
  Shown part{queries.count(), keys.size(), {}, {}};
  part.weights.reserve(part.rows * part.columns);
  for (std::size_t i = queries.first; i < queries.end; ++i) {
    for (const std::size_t key : keys) {
      part.weights.push_back(whole.weights[i * whole.columns + key]);
      if (!whole.allowed.empty()) part.allowed.push_back(whole.allowed[i * whole.columns + key]);
    }
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
  const std::string heads = heads_text(maps);
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

namespace {

// Labels as they stand in files and as people read them both name a key.
std::set<std::size_t> dropped_keys(const MapSelection& selection, std::size_t count,
                                   const std::vector<std::string>& labels) {
  std::set<std::size_t> dropped;
  const auto readable = readable_tokens(labels, token_spelling({&labels}), false);
  for (const std::string& key : selection.drop) {
    std::size_t position = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), position);
    if (error == std::errc() && end == key.data() + key.size()) {
      if (position >= count) {
        throw input_error(translated("there is no key {1} to leave out of {2}", key,
                                     translated_count(count, "{1} key", "{1} keys")),
                          "MapSelection::drop", translated("give 0 to {1}", count - 1));
      }
      dropped.insert(position);
      continue;
    }
    bool found = false;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] != key && readable[i] != key) continue;
      dropped.insert(i);
      found = true;
    }
    if (found) continue;
    const std::vector<std::string_view> known(labels.begin(), labels.end());
    throw input_error(translated("no key is called \"{1}\"", key), "MapSelection::drop",
                      labels.empty()
                          ? translated("give positions from 0, or labels that name the keys")
                          : suggestion(key, known));
  }
  return dropped;
}

// "Key 4" or the label.
std::string dropped_text(const MapSelection& selection) {
  std::string text;
  for (std::size_t i = 0; i < selection.drop.size(); ++i) {
    const std::string& key = selection.drop[i];
    std::size_t position = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), position);
    const bool number = error == std::errc() && end == key.data() + key.size();
    if (i > 0) text += i + 1 < selection.drop.size() ? translated(", ") : translated(" and ");
    text += number ? translated("Key {1}", position + 1) : key;
  }
  return text;
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

std::vector<std::string> key_labels(const std::vector<std::string>& labels,
                                    const std::vector<std::size_t>& keys) {
  std::vector<std::string> part;
  const bool follow = keys.back() - keys.front() + 1 == keys.size();
  if (labels.empty() && follow) return part;  // they can be counted
  for (const std::size_t key : keys) {
    part.push_back(labels.empty() ? "K_" + std::to_string(key + 1) : labels[key]);
  }
  return part;
}

bool MapSelection::plain() const {
  return !heads_together(*this) && !queries && !keys && drop_first == 0 && drop.empty() &&
         !renormalize && !merge_pieces;
}

Positions selected_queries(const MapSelection& selection, std::size_t count) {
  return positions_in(selection.queries, count, "MapSelection::queries", "query", "queries");
}

std::vector<std::size_t> selected_keys(const MapSelection& selection, std::size_t count,
                                       const std::vector<std::string>& labels) {
  Positions keys = positions_in(selection.keys, count, "MapSelection::keys", "key", "keys");
  if (selection.drop_first >= keys.end) {
    throw input_error(
        translated("without the first {1} no key is left of {2}", selection.drop_first,
                   translated_count(count, "{1} key", "{1} keys")),
        "MapSelection::drop_first", translated("give a number from 0 to {1}", keys.end - 1));
  }
  keys.first = std::max(keys.first, selection.drop_first);
  const std::set<std::size_t> dropped = dropped_keys(selection, count, labels);
  std::vector<std::size_t> kept;
  for (std::size_t key = keys.first; key < keys.end; ++key) {
    if (!dropped.contains(key)) kept.push_back(key);
  }
  if (!kept.empty()) return kept;
  throw input_error(translated("without those that are left out no key is left of {1}",
                               translated_count(count, "{1} key", "{1} keys")),
                    "MapSelection::drop", translated("leave some of them in"));
}

std::vector<std::size_t> drawn_heads(const SelectedMaps& maps) {
  return numbers_in(maps.selection.chosen_heads, maps.weights.heads(), "MapSelection::chosen_heads",
                    "head", "heads");
}

std::string heads_text(const SelectedMaps& maps) {
  return numbers_text(drawn_heads(maps), maps.weights.heads(), NumberedThing::head);
}

std::string keys_text(const MapSelection& selection) {
  std::string text;
  if (selection.drop_first > 0) {
    text = translated_count(selection.drop_first, "without the First Key",
                            "without the First {1} Keys");
  }
  if (!selection.drop.empty()) {
    text += text.empty() ? translated("without {1}", dropped_text(selection))
                         : translated(" and {1}", dropped_text(selection));
  }
  if (selection.renormalize) {
    text += (text.empty() ? "" : translated(", ")) + translated("Renormalised");
  }
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
  Shown shown =
      of_heads(maps, sample, heads_together(selection) ? drawn_heads(maps) : std::vector{head});
  // 2. The positions.
  const Positions queries = selected_queries(selection, shown.rows);
  const std::vector<std::size_t> keys = selected_keys(selection, shown.columns, heatmap.key_labels);
  shown = part_of(shown, queries, keys);
  if (selection.renormalize) renormalize(shown);
  // 3. The words. A part of the labels may hold no sign of how they are spelled.
  if (selection.merge_pieces) {
    std::vector<std::size_t> rows(queries.count());
    std::iota(rows.begin(), rows.end(), queries.first);
    const WordsOfAxes words =
        merged_words(selection.words, {heatmap.query_labels, maps.weights.queries(), rows},
                     {heatmap.key_labels, maps.weights.keys(), keys});
    shown = merged(shown, words.queries, words.keys);
    keep_words(heatmap.query_labels, words.queries);
    keep_words(heatmap.key_labels, words.keys);
  } else {
    heatmap.query_labels = part_of(heatmap.query_labels, queries);
    heatmap.key_labels = key_labels(heatmap.key_labels, keys);
  }
  heatmap.first_query = queries.first;
  heatmap.first_key = keys.front();
  const Shape shape = {shown.rows, shown.columns};
  heatmap.weights = Tensor(shape, std::move(shown.weights));
  heatmap.allowed = shown.allowed.empty() ? Tensor() : Tensor(shape, std::move(shown.allowed));
  return heatmap;
}

HeatmapGrid selected_heads(const SelectedMaps& maps) {
  const std::vector<std::size_t> heads = drawn_heads(maps);
  HeatmapGrid grid{1, heads.size(), {}};
  for (const std::size_t head : heads) {
    grid.panels.push_back(selected_heatmap(maps, maps.sample, head));
    grid.panels.back().title = translated("Head {1}", head + 1);
  }
  return grid;
}

HeatmapGrid selected_grid(const SelectedMaps& maps) {
  const bool together = heads_together(maps.selection);
  const bool one_sample = maps.selection.one_sample;
  std::vector<std::size_t> heads = drawn_heads(maps);
  if (together) heads.resize(1);
  HeatmapGrid grid{one_sample ? 1 : maps.weights.samples(), heads.size(), {}};
  const bool several = grid.rows * grid.columns > 1;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    const std::size_t sample = one_sample ? maps.sample : row;
    for (const std::size_t head : heads) {
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
