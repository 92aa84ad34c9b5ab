#include "maps/selected_map.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/example_titles.hpp"
#include "maps/merged_words.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

void check_label_count(std::size_t labels, std::size_t positions, std::string_view axis) {
  if (labels == positions) return;
  throw input_error(
      translated("{1} for {2}", translated_count(labels, "{1} label", "{1} labels"),
                 (axis == "query" ? translated_count(positions, "{1} query", "{1} queries")
                                  : translated_count(positions, "{1} key", "{1} keys"))),
      "/labels/" + std::string(axis), translated("give one label each"));
}

void check_labels(const Labels& labels, const Maps& maps) {
  const auto check = [&](const std::vector<std::vector<std::string>>& lists, std::size_t length,
                         const char* axis) {
    if (lists.size() > 1 && lists.size() != maps.samples()) {
      throw input_error(translated("{1} of labels for {2}",
                                   translated_count(lists.size(), "{1} list", "{1} lists"),
                                   translated_count(maps.samples(), "{1} sample", "{1} samples")),
                        std::string("/labels/") + axis,
                        translated("give one list for all samples, or one list per sample"));
    }
    for (const auto& list : lists) check_label_count(list.size(), length, axis);
  };
  check(labels.query, maps.queries(), "query");
  check(labels.key, maps.keys(), "key");
}

// Matrix on its way from the heads to the picture.
struct Shown {
  std::size_t rows = 0, columns = 0;
  std::vector<double> weights;
  std::vector<std::uint8_t> allowed;  // empty = unknown
};

// Mean or largest of the heads. A cell is allowed if any head allows it.
Shown of_heads(const SelectedMap& selected, std::size_t sample,
               const std::vector<std::size_t>& heads) {
  Shown shown{selected.numbers.queries(), selected.numbers.keys(), {}, {}};
  const bool largest = selected.choice.selection.heads == MapSelection::Heads::max;
  for (const std::size_t head : heads) {
    const Tensor matrix = selected.numbers.matrix(sample, head).converted(DType::float64);
    const auto values = matrix.values<double>();
    if (head == heads[0]) {
      shown.weights.assign(values.begin(), values.end());
    } else {
      for (std::size_t i = 0; i < values.size(); ++i) {
        double& weight = shown.weights[i];
        // A NaN in any head is shown.
        weight = !largest ? weight + values[i]
                          : (values[i] > weight || std::isnan(values[i]) ? values[i] : weight);
      }
    }
    if (!selected.allowed || selected.choice.selection.hide_mask) continue;
    const Tensor mask = selected.allowed->matrix(sample, head).converted(DType::boolean);
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

// Divides rows by their sums; a row of zeros is left alone.
void renormalize(Shown& shown) {
  for (std::size_t i = 0; i < shown.rows; ++i) {
    double* row = shown.weights.data() + i * shown.columns;
    double sum = 0;
    for (std::size_t j = 0; j < shown.columns; ++j) sum += row[j];
    if (sum == 0) continue;
    for (std::size_t j = 0; j < shown.columns; ++j) row[j] /= sum;
  }
}

// Sums of the keys of a word, and means of its queries.
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
std::string place_text(const SelectedMap& selected, std::size_t sample, std::size_t head) {
  const MapSelection& selection = selected.choice.selection;
  const std::string between = translated(", ");
  std::string place = selected.where.empty() ? "" : selected.where + between;
  // The one sample of a model goes without saying.
  const std::size_t first = selected.map.first_number();
  if (first > 0 || selected.numbers.samples() > 1) {
    place += translated("Sample {1}", sample + first) + between;
  }
  const std::string heads = heads_text(selected);
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
      place += translated("Head {1}", head + selected.map.first_number());
      break;
  }
  if (const std::string keys = keys_text(selection); !keys.empty()) place += between + keys;
  return translated("({1})", place);
}

Maps numbers_of(const AttentionMap& map) {
  if (!map.numbers) {
    throw input_error(
        translated("there are no weights to draw"), "",
        translated("give a result with weights, {\"weights\": …}, or a file with one tensor"));
  }
  return Maps(map.numbers, map.heads_only);
}

// Seen cells of a map of queries and keys, whose labels are checked too. Labels of another tensor
// need not fit it.
std::optional<Maps> allowed_of(const AttentionMap& map, const Maps& numbers) {
  if (!map.is_map()) return std::nullopt;
  check_labels(map.labels, numbers);
  if (!map.allowed) return std::nullopt;
  check_allowed(map);
  return Maps(map.allowed, map.heads_only);
}

// Names of positions or dimensions, counted from 0.
std::vector<std::string> counted(std::size_t first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(first + i));
  return names;
}

// Matrix of a tensor whose rows are positions and whose columns are dimensions.
Heatmap heatmap_of_positions(const SelectedMap& selected, std::size_t head) {
  const AttentionMap& map = selected.map;
  const MapSelection& selection = selected.choice.selection;
  const std::size_t sample = selected.choice.sample;
  if (selection.merge_pieces || selection.renormalize || selection.drop_first > 0 ||
      !selection.drop.empty()) {
    throw input_error(
        translated("\"{1}\" has no keys", map.tensor), "MapRequest::name",
        translated(
            "leave out MapSelection::drop_first, MapSelection::drop, MapSelection::renormalize and "
            "MapSelection::merge_pieces, or say with MapRequest::axes that it is a map"));
  }
  AttentionMap unlabelled = map;
  unlabelled.labels = {};
  Heatmap heatmap = selected_heatmap(SelectedMap(unlabelled, selected.choice), sample, head);
  const Shape& shape = heatmap.weights.shape();
  const std::vector<std::string> labels = Labels::of_sample(map.labels.query, sample);
  if (labels.size() == selected.numbers.queries()) {
    const auto start = labels.begin() + static_cast<std::ptrdiff_t>(heatmap.first_query);
    heatmap.query_labels.assign(start, start + static_cast<std::ptrdiff_t>(shape[0]));
  } else {
    heatmap.query_labels = counted(heatmap.first_query, shape[0]);
  }
  heatmap.key_labels = counted(heatmap.first_key, shape[1]);
  heatmap.title = map.tensor;
  heatmap.of_positions = heatmap.any_numbers = true;
  if (selected.numbers.heads() > 1) {
    heatmap.title += " " + place_text(selected, sample, head);
  } else if (selected.numbers.samples() > 1) {
    heatmap.title +=
        " " + translated("({1})", translated("Sample {1}", sample + map.first_number()));
  }
  return heatmap;
}

// Whether the matrix of a map holds weights. Another program's tensor may only be named so: its
// rows must sum to 1.
bool holds_weights(const AttentionMap& map, const Tensor& matrix) {
  return map.holds_weights() &&
         (map.of_result || map.tensor.ends_with("pooled_weights") || has_rows_of_weights(matrix));
}

// Heads of the chosen sample side by side.
std::vector<Heatmap> selected_heads(const SelectedMap& selected) {
  std::vector<Heatmap> heads;
  for (const std::size_t head : drawn_heads(selected)) {
    heads.push_back(selected_heatmap(selected, selected.choice.sample, head));
    heads.back().title = translated("Head {1}", head + selected.map.first_number());
  }
  return heads;
}

}  // namespace

SelectedMap::SelectedMap(const AttentionMap& of, const MapChoice& chosen)
    : map(of), choice(chosen), numbers(numbers_of(of)), allowed(allowed_of(of, numbers)) {
  check_place(choice.sample, numbers.samples(), choice.head, numbers.heads());
  where = place_of(map);
}

Heatmap heatmap_of(const SelectedMap& selected) {
  const AttentionMap& map = selected.map;
  if (!map.is_map()) return heatmap_of_positions(selected, selected.choice.head);
  Heatmap heatmap = selected_heatmap(selected);
  if (!map.cells.empty()) heatmap.title += "\n" + map.cells;
  return heatmap;
}

std::vector<Heatmap> heads_of(const SelectedMap& selected) {
  if (selected.choice.selection.heads != MapSelection::Heads::all) return {heatmap_of(selected)};
  if (selected.map.is_map()) return selected_heads(selected);
  std::vector<Heatmap> heads;
  for (const std::size_t head : drawn_heads(selected)) {
    heads.push_back(heatmap_of_positions(selected, head));
    if (selected.numbers.heads() > 1)
      heads.back().title = translated("Head {1}", head + selected.map.first_number());
  }
  return heads;
}

Heatmap selected_heatmap(const SelectedMap& selected) {
  return selected_heatmap(selected, selected.choice.sample, selected.choice.head);
}

Heatmap selected_heatmap(const SelectedMap& selected, std::size_t sample, std::size_t head) {
  const MapSelection& selection = selected.choice.selection;
  Heatmap heatmap;
  heatmap.weights = selected.numbers.matrix(sample, head);
  heatmap.any_numbers = !holds_weights(selected.map, heatmap.weights);
  if (selected.allowed && !selection.hide_mask)
    heatmap.allowed = selected.allowed->matrix(sample, head);
  heatmap.query_labels = Labels::of_sample(selected.map.labels.query, sample);
  heatmap.key_labels = Labels::of_sample(selected.map.labels.key, sample);
  const std::string place = place_text(selected, sample, head);
  heatmap.title = selected.map.title.empty() ? translated("Attention Weight Heatmap {1}", place)
                                             : shown_title(selected.map.title) + "\n" + place;
  if (selection.plain()) return heatmap;

  // 1. The heads.
  Shown shown = of_heads(selected, sample,
                         heads_together(selection) ? drawn_heads(selected) : std::vector{head});
  // 2. The positions.
  const Positions queries = selected_queries(selection, shown.rows, heatmap.query_labels);
  const std::vector<std::size_t> keys = selected_keys(selection, shown.columns, heatmap.key_labels);
  shown = part_of(shown, queries, keys);
  if (selection.renormalize) renormalize(shown);
  // 3. The words. A part of the labels may hold no sign of how they are spelled.
  if (selection.merge_pieces) {
    std::vector<std::size_t> rows(queries.count());
    std::iota(rows.begin(), rows.end(), queries.first);
    const WordsOfAxes words =
        merged_words(selection.words, {heatmap.query_labels, selected.numbers.queries(), rows},
                     {heatmap.key_labels, selected.numbers.keys(), keys});
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

HeatmapGrid selected_grid(const SelectedMap& selected) {
  const bool together = heads_together(selected.choice.selection);
  const bool one_sample = selected.choice.selection.one_sample;
  std::vector<std::size_t> heads = drawn_heads(selected);
  if (together) heads.resize(1);
  HeatmapGrid grid{one_sample ? 1 : selected.numbers.samples(), heads.size(), {}};
  const bool several = grid.rows * grid.columns > 1;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    const std::size_t sample = one_sample ? selected.choice.sample : row;
    for (const std::size_t head : heads) {
      Heatmap panel = selected_heatmap(selected, sample, head);
      panel.title =
          several && !together ? translated("Head {1}", head + selected.map.first_number()) : "";
      grid.panels.push_back(std::move(panel));
    }
    if (grid.rows > 1)
      grid.row_titles.push_back(translated("Sample {1}", sample + selected.map.first_number()));
  }
  return grid;
}

HeadLines selected_lines(const SelectedMap& selected) {
  const std::string place = place_text(selected);
  HeadLines lines;
  lines.title = selected.map.title.empty() ? translated("Attention between Tokens {1}", place)
                                           : shown_title(selected.map.title) + "\n" + place;
  if (!selected.map.cells.empty()) lines.title += "\n" + selected.map.cells;
  if (selected.choice.selection.heads == MapSelection::Heads::all) {
    lines.heads = selected_heads(selected);
  } else {
    lines.heads.push_back(selected_heatmap(selected));
  }
  return lines;
}

std::vector<std::size_t> drawn_heads(const SelectedMap& selected) {
  return numbers_in(selected.choice.selection.chosen_heads, selected.numbers.heads(),
                    "MapSelection::chosen_heads", "head", "heads");
}

std::string heads_text(const SelectedMap& selected) {
  return numbers_text(drawn_heads(selected), selected.numbers.heads(), NumberedThing::head,
                      selected.map.first_number());
}

std::string place_text(const SelectedMap& selected) {
  return place_text(selected, selected.choice.sample, selected.choice.head);
}

std::optional<std::string> merging_warning(const AttentionMap& map, const MapChoice& choice) {
  if (!choice.selection.merge_pieces || !map.is_map() || !map.numbers) return std::nullopt;
  const Heatmap merged = selected_heatmap(SelectedMap(map, choice));
  MapChoice apart = choice;
  apart.selection.merge_pieces = false;
  const Heatmap pieces = selected_heatmap(SelectedMap(map, apart));
  if (merged.weights.shape() != pieces.weights.shape()) return std::nullopt;
  return translated(
      "nothing was merged: no label has the mark of a piece of a word, such as ##, Ġ or ▁; "
      "MapSelection::words says which pieces make a word where there are no marks");
}

}  // namespace attn
