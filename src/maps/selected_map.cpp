#include "maps/selected_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/document.hpp"
#include "plot/text/token_spans.hpp"
#include "result/tensor_names.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

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
  std::vector<std::uint8_t> allowed;  // bits of how each cell is seen; empty = unknown
};

// A cell is seen, or seen only by the mask, while a bias hides it in effect.
constexpr std::uint8_t seen_bit = 1, in_effect_bit = 2;

// Adds a number of another map to the sum or the largest of several. A NaN in any of them is shown.
double joined(double all, double other, bool largest) {
  if (!largest) return all + other;
  return other > all || std::isnan(other) ? other : all;
}

// Adds a matrix to those that are taken together. A cell is allowed if any of them allows it.
void join(Shown& all, const Shown& other, bool largest) {
  if (all.weights.empty()) {
    all = other;
    return;
  }
  for (std::size_t i = 0; i < all.weights.size(); ++i)
    all.weights[i] = joined(all.weights[i], other.weights[i], largest);
  for (std::size_t i = 0; i < all.allowed.size(); ++i) all.allowed[i] |= other.allowed[i];
}

void divide(Shown& sums, std::size_t count) {
  for (double& weight : sums.weights) weight /= static_cast<double>(count);
}

Shown of_head(const SelectedMap& selected, std::size_t sample, std::size_t head) {
  Shown shown{selected.numbers.queries(), selected.numbers.keys(), {}, {}};
  const Tensor matrix = selected.numbers.matrix(sample, head).converted(DType::float64);
  shown.weights.assign(matrix.values<double>().begin(), matrix.values<double>().end());
  if (selected.choice.selection.hide_mask) return shown;
  if (selected.allowed) {
    const Tensor mask = selected.allowed->matrix(sample, head).converted(DType::boolean);
    shown.allowed.assign(mask.values<std::uint8_t>().begin(), mask.values<std::uint8_t>().end());
  }
  if (!selected.hidden_in_effect) return shown;
  const Tensor cells = selected.hidden_in_effect->matrix(sample, head).converted(DType::boolean);
  shown.allowed.resize(shown.weights.size(), seen_bit);
  for (std::size_t i = 0; i < shown.allowed.size(); ++i) {
    const bool in_effect = shown.allowed[i] != 0 && cells.values<std::uint8_t>()[i] != 0;
    if (in_effect) shown.allowed[i] = in_effect_bit;
  }
  return shown;
}

// The matrix of a sample and a head or, where the choice says so, the mean or the largest of
// several heads, then of several samples.
Shown of_maps(const SelectedMap& selected, std::size_t sample, std::size_t head) {
  const MapSelection& selection = selected.choice.selection;
  const bool of_samples = samples_together(selection), of_heads = heads_together(selection);
  const auto samples = of_samples ? drawn_samples(selected) : std::vector{sample};
  const auto heads = of_heads ? drawn_heads(selected) : std::vector{head};
  Shown all;
  for (const std::size_t own : samples) {
    Shown one;
    for (const std::size_t of : heads)
      join(one, of_head(selected, own, of), selection.heads == MapSelection::Shown::max);
    if (selection.heads == MapSelection::Shown::mean) divide(one, heads.size());
    join(all, one, selection.samples == MapSelection::Shown::max);
  }
  if (selection.samples == MapSelection::Shown::mean) divide(all, samples.size());
  return all;
}

// Labels of a sample; of several samples together those that all of them have.
std::vector<std::string> labels_of(const SelectedMap& selected,
                                   const std::vector<std::vector<std::string>>& lists,
                                   std::size_t sample) {
  if (!samples_together(selected.choice.selection)) return Labels::of_sample(lists, sample);
  const std::vector<std::size_t> samples = drawn_samples(selected);
  std::vector<std::string> labels = Labels::of_sample(lists, samples[0]);
  for (const std::size_t other : samples) {
    if (Labels::of_sample(lists, other) != labels) return {};
  }
  return labels;
}

// Parts of a sample's axis; of several samples together those that all of them have.
std::vector<AxisSpan> spans_of(const SelectedMap& selected,
                               const std::vector<std::vector<AxisSpan>>& lists,
                               std::size_t sample) {
  if (!samples_together(selected.choice.selection)) return Labels::spans_of_sample(lists, sample);
  const std::vector<std::size_t> samples = drawn_samples(selected);
  std::vector<AxisSpan> spans = Labels::spans_of_sample(lists, samples[0]);
  for (const std::size_t other : samples) {
    if (Labels::spans_of_sample(lists, other) != spans) return {};
  }
  return spans;
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

// Sums of the keys of a word or block, and means of its queries.
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

// A name of at most so many columns, cut at its end.
std::string start_of(const std::string& name, std::size_t widest) {
  if (display_width(name) <= widest) return name;
  std::string start;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t bytes =
        std::max<std::size_t>(first_character(std::string_view(name).substr(at)).bytes, 1);
    if (display_width(start + name.substr(at, bytes)) >= widest) break;
    start += name.substr(at, bytes);
    at += bytes;
  }
  while (start.ends_with(' ')) start.pop_back();
  return start + "\u2026";
}

void keep_words(std::vector<std::string>& labels, const std::vector<Word>& words) {
  if (labels.empty()) return;
  labels.clear();
  for (const Word& word : words) labels.push_back(word.text);
}

// Parts of an axis in words; a word with several parts belongs to that of its first piece.
std::vector<AxisSpan> in_words(const std::vector<AxisSpan>& spans, const std::vector<Word>& words) {
  std::vector<std::size_t> firsts;
  for (const Word& word : words) firsts.push_back(word.first);
  return shown_spans(spans, firsts);
}

// Blocks of the shown positions of an axis: its parts or the sentences of its tokens, and tokens
// that belong to none of them alone.
std::vector<Word> blocks_of(const std::vector<AxisSpan>& spans, std::size_t positions,
                            const std::vector<std::string>& labels) {
  std::vector<Word> blocks;
  const auto alone_until = [&](std::size_t end) {
    for (std::size_t i = blocks.empty() ? 0 : blocks.back().end; i < end; ++i)
      blocks.push_back({i < labels.size() ? labels[i] : std::to_string(i), i, i + 1});
  };
  for (const AxisSpan& span : spans) {
    alone_until(span.first);
    blocks.push_back({span.name, span.first, span.end});
  }
  alone_until(positions);
  return blocks;
}

// "Head 3", "12 Heads" or "Mean of Heads 1 to 6"; likewise of samples.
std::string axis_text(const SelectedMap& selected, NumberedThing thing, std::size_t number) {
  const bool samples = thing == NumberedThing::sample;
  const MapSelection& selection = selected.choice.selection;
  const std::size_t count = samples ? selected.numbers.samples() : selected.numbers.heads();
  const auto text = [&](const std::vector<std::size_t>& numbers, std::size_t all) {
    return numbers_text(numbers, all, thing, selected.first_number);
  };
  const MapSelection::Shown shown = samples ? selection.samples : selection.heads;
  if (shown == MapSelection::Shown::one)
    return text({number}, std::numeric_limits<std::size_t>::max());
  const std::string all = text(samples ? drawn_samples(selected) : drawn_heads(selected), count);
  return shown == MapSelection::Shown::mean  ? translated("Mean of {1}", all)
         : shown == MapSelection::Shown::max ? translated("Largest of {1}", all)
                                             : all;
}

// The matrix in blocks, whose names become the labels of both axes. Throws Error(input) naming the
// field where no axis has any.
Shown in_blocks(const Shown& shown, const MapSelection& selection, Heatmap& heatmap) {
  const bool sentences = selection.blocks == MapSelection::Blocks::sentence;
  const auto spans = [&](const std::vector<AxisSpan>& given,
                         const std::vector<std::string>& labels) {
    if (sentences) return sentences_of(labels);
    if (!given.empty()) return given;
    const std::vector<AxisSpan> turns = turns_of(labels);
    return turns.empty() ? segments_of(labels) : turns;
  };
  const auto queries = spans(heatmap.query_spans, heatmap.query_labels);
  const auto keys = spans(heatmap.key_spans, heatmap.key_labels);
  if (queries.empty() && keys.empty()) {
    throw input_error(
        sentences ? translated("there are no labels that show where sentences end")
                  : translated("no part of the tokens is known"),
        "MapSelection::blocks",
        sentences ? translated("give the tokens as labels: {\"query\": […], \"key\": […]}")
                  : translated("name them in the labels: {\"spans\": {\"NAME\": [first, end]}}"));
  }
  const std::vector<Word> rows = blocks_of(queries, shown.rows, heatmap.query_labels);
  const std::vector<Word> columns = blocks_of(keys, shown.columns, heatmap.key_labels);
  const auto name = [](std::vector<std::string>& labels, const std::vector<Word>& blocks) {
    constexpr std::size_t widest = 28;
    labels.clear();
    for (const Word& block : blocks) labels.push_back(start_of(block.text, widest));
  };
  name(heatmap.query_labels, rows);
  name(heatmap.key_labels, columns);
  heatmap.query_spans = heatmap.key_spans = {};
  heatmap.first_query = heatmap.first_key = 0;
  return merged(shown, rows, columns);
}

// "(Layer 2, Sample 1, Head 1, without the First Key, Renormalised)"; empty if there is nothing to
// say.
std::string place_text(const SelectedMap& selected, std::size_t sample, std::size_t head) {
  if (!axes_of(selected.map.tensor).first.empty()) return "";
  std::vector<std::string> parts{selected.where};
  // The one sample of a model goes without saying.
  const std::size_t first = selected.first_number;
  if (first > 0 || selected.numbers.samples() > 1)
    parts.push_back(axis_text(selected, NumberedThing::sample, sample));
  if (!selected.map.is_rollout() || selected.numbers.heads() > 1)
    parts.push_back(axis_text(selected, NumberedThing::head, head));
  parts.push_back(keys_text(selected.choice.selection, first));
  std::string place;
  for (const std::string& part : parts) {
    if (!part.empty()) place += (place.empty() ? "" : translated(", ")) + part;
  }
  return place.empty() ? "" : translated("({1})", place);
}

// "Attention Weight Heatmap (Sample 1, Head 1)", for a map without a title of its own.
std::string usual_title(const AttentionMap& map, const std::string& place) {
  if (!axes_of(map.tensor).first.empty()) return map.tensor;
  if (!map.is_rollout()) return translated("Attention Weight Heatmap {1}", place);
  return translated("Attention Rollout") + (place.empty() ? "" : translated(" {1}", place));
}

std::string title_of(const SelectedMap& selected, std::size_t sample, std::size_t head) {
  const std::string place = place_text(selected, sample, head);
  return selected.map.title.empty() ? usual_title(selected.map, place)
                                    : shown_title(selected.map.title) + "\n" + place;
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

// Puts how the cells are seen into the heatmap.
void put_seen(Heatmap& heatmap, const Shape& shape, std::vector<std::uint8_t> bits) {
  if (bits.empty()) return;
  std::vector<std::uint8_t> in_effect(bits.size());
  bool any = false;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    in_effect[i] = bits[i] == in_effect_bit ? 1 : 0;
    bits[i] = bits[i] != 0 ? 1 : 0;
    any = any || in_effect[i] != 0;
  }
  heatmap.allowed = Tensor(shape, std::move(bits));
  if (any) heatmap.hidden_in_effect = Tensor(shape, std::move(in_effect));
}

std::vector<std::size_t> counted_from(const Positions& positions) {
  std::vector<std::size_t> numbers(positions.count());
  std::iota(numbers.begin(), numbers.end(), positions.first);
  return numbers;
}

// Names of positions or dimensions, counted from 0.
std::vector<std::string> counted(std::size_t first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(first + i));
  return names;
}

// Matrix of a tensor whose rows are positions and whose columns are dimensions.
Heatmap heatmap_of_positions(const SelectedMap& selected, const MapPlace& place) {
  const AttentionMap& map = selected.map;
  const MapSelection& selection = selected.choice.selection;
  const auto& [sample, head, title] = place;
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
  const std::vector<std::string> labels = labels_of(selected, map.labels.query, sample);
  if (labels.size() == selected.numbers.queries()) {
    const auto start = labels.begin() + static_cast<std::ptrdiff_t>(heatmap.first_query);
    heatmap.query_labels.assign(start, start + static_cast<std::ptrdiff_t>(shape[0]));
  } else {
    heatmap.query_labels = counted(heatmap.first_query, shape[0]);
  }
  // Columns of a table have names of their own, other than those of the positions, and those of
  // weights are keys; the keys of a result are no dimensions.
  const std::vector<std::string> columns = labels_of(selected, map.labels.key, sample);
  const bool of_keys = is_map(map.tensor);
  const bool table = of_keys || (!map.of_result && columns != labels &&
                                 (labels.empty() || labels.size() == selected.numbers.queries()));
  if (table && columns.size() == selected.numbers.keys()) {
    const auto start = columns.begin() + static_cast<std::ptrdiff_t>(heatmap.first_key);
    heatmap.key_labels.assign(start, start + static_cast<std::ptrdiff_t>(shape[1]));
  } else {
    heatmap.key_labels = counted(heatmap.first_key, shape[1]);
  }
  heatmap.title = map.tensor;
  heatmap.of_positions = !of_keys;
  heatmap.any_numbers = true;
  if (!title.empty()) {
    heatmap.title = title;
  } else if (selected.numbers.heads() > 1) {
    heatmap.title += translated(" {1}", place_text(selected, sample, head));
  } else if (selected.numbers.samples() > 1) {
    heatmap.title += translated(" ({1})", axis_text(selected, NumberedThing::sample, sample));
  }
  return heatmap;
}

// Whether the matrix of a map holds weights. Another program's tensor may only be named so: its
// rows must sum to 1.
bool holds_weights(const AttentionMap& map, const Tensor& matrix) {
  if (map.is_rollout()) return has_rows_of_weights(matrix);
  return map.holds_weights() &&
         (map.of_result || map.tensor.ends_with("pooled_weights") || has_rows_of_weights(matrix));
}

}  // namespace

SelectedMap::SelectedMap(const AttentionMap& of, const MapChoice& chosen)
    : map(of),
      choice(chosen),
      numbers(numbers_of(of)),
      allowed(allowed_of(of, numbers)),
      first_number(of.first_number()) {
  check_place(choice.sample, numbers.samples(), choice.head, numbers.heads());
  if (map.is_map() && map.hidden_in_effect)
    hidden_in_effect.emplace(map.hidden_in_effect, map.heads_only);
  where = place_of(map);
}

Heatmap heatmap_of(const SelectedMap& selected) {
  const AttentionMap& map = selected.map;
  if (!map.is_map())
    return heatmap_of_positions(selected, {selected.choice.sample, selected.choice.head, ""});
  Heatmap heatmap = selected_heatmap(selected);
  heatmap.title = title_of(selected);
  return heatmap;
}

std::string title_of(const SelectedMap& selected) {
  const std::string title = title_of(selected, selected.choice.sample, selected.choice.head);
  return selected.map.cells.empty() ? title : title + "\n" + selected.map.cells;
}

bool side_by_side(const MapSelection& selection) {
  return selection.heads == MapSelection::Shown::all ||
         selection.samples == MapSelection::Shown::all;
}

std::vector<MapPlace> places_of(const SelectedMap& selected) {
  const MapChoice& choice = selected.choice;
  const bool each_sample = choice.selection.samples == MapSelection::Shown::all;
  const bool each_head = choice.selection.heads == MapSelection::Shown::all;
  const std::size_t first = selected.first_number;
  std::vector<MapPlace> places;
  for (const std::size_t sample :
       each_sample ? drawn_samples(selected) : std::vector{choice.sample}) {
    for (const std::size_t head : each_head ? drawn_heads(selected) : std::vector{choice.head}) {
      std::string title = each_sample ? translated("Sample {1}", sample + first) : "";
      if (each_head)
        title += (title.empty() ? "" : translated(", ")) + translated("Head {1}", head + first);
      places.push_back({sample, head, std::move(title)});
    }
  }
  return places;
}

std::vector<Heatmap> maps_of(const SelectedMap& selected) {
  if (!side_by_side(selected.choice.selection)) return {heatmap_of(selected)};
  std::vector<Heatmap> maps;
  const std::vector<MapPlace> places = places_of(selected);
  if (!selected.map.is_map() && places.size() == 1)
    return {heatmap_of_positions(selected, {places[0].sample, places[0].head, ""})};
  for (const MapPlace& place : places) {
    if (selected.map.is_map()) {
      maps.push_back(selected_heatmap(selected, place.sample, place.head));
      maps.back().title = place.title;
    } else {
      maps.push_back(heatmap_of_positions(selected, place));
    }
  }
  return maps;
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
  if (selected.hidden_in_effect && !selection.hide_mask)
    heatmap.hidden_in_effect = selected.hidden_in_effect->matrix(sample, head);
  heatmap.first_number = selected.first_number;
  heatmap.query_labels = labels_of(selected, selected.map.labels.query, sample);
  heatmap.key_labels = labels_of(selected, selected.map.labels.key, sample);
  heatmap.query_spans = spans_of(selected, selected.map.labels.query_spans, sample);
  heatmap.key_spans = spans_of(selected, selected.map.labels.key_spans, sample);
  heatmap.title = title_of(selected, sample, head);
  heatmap.query_places = counted_from({0, selected.numbers.queries()});
  heatmap.key_places = counted_from({0, selected.numbers.keys()});
  if (selection.plain()) return heatmap;

  // 1. The samples and heads.
  Shown shown = of_maps(selected, sample, head);
  // 2. The positions.
  const Positions queries = selected_queries(selection, shown.rows, heatmap.query_labels);
  const std::vector<std::size_t> keys = selected_keys(selection, shown.columns, heatmap.key_labels);
  shown = part_of(shown, queries, keys);
  if (selection.renormalize) renormalize(shown);
  heatmap.query_spans = shown_spans(heatmap.query_spans, queries);
  heatmap.key_spans = shown_spans(heatmap.key_spans, keys);
  // 3. The words. A part of the labels may hold no sign of how they are spelled.
  if (selection.merge_pieces) {
    heatmap.query_places.clear();
    heatmap.key_places.clear();
    const WordsOfAxes words = merged_words(
        selection.words, {heatmap.query_labels, selected.numbers.queries(), counted_from(queries)},
        {heatmap.key_labels, selected.numbers.keys(), keys});
    shown = merged(shown, words.queries, words.keys);
    keep_words(heatmap.query_labels, words.queries);
    keep_words(heatmap.key_labels, words.keys);
    heatmap.query_spans = in_words(heatmap.query_spans, words.queries);
    heatmap.key_spans = in_words(heatmap.key_spans, words.keys);
  } else {
    heatmap.query_places = counted_from(queries);
    heatmap.key_places = keys;
    heatmap.query_labels = part_of(heatmap.query_labels, queries);
    heatmap.key_labels = key_labels(heatmap.key_labels, keys, selected.first_number);
  }
  heatmap.first_query = queries.first;
  heatmap.first_key = keys.front();
  // 4. The blocks.
  if (selection.blocks != MapSelection::Blocks::none) shown = in_blocks(shown, selection, heatmap);
  const Shape shape = {shown.rows, shown.columns};
  heatmap.weights = Tensor(shape, std::move(shown.weights));
  heatmap.allowed = heatmap.hidden_in_effect = {};
  put_seen(heatmap, shape, std::move(shown.allowed));
  return heatmap;
}

HeatmapGrid selected_grid(const SelectedMap& selected) {
  const MapSelection& selection = selected.choice.selection;
  const std::size_t first = selected.first_number;
  std::vector<std::size_t> heads = drawn_heads(selected), samples = drawn_samples(selected);
  if (heads_together(selection)) heads.resize(1);
  if (samples_together(selection)) samples.resize(1);
  HeatmapGrid grid{samples.size(), heads.size(), {}};
  const bool several = grid.rows * grid.columns > 1 && !heads_together(selection);
  for (const std::size_t sample : samples) {
    for (const std::size_t head : heads) {
      Heatmap panel = selected_heatmap(selected, sample, head);
      panel.title = several ? translated("Head {1}", head + first) : "";
      grid.panels.push_back(std::move(panel));
    }
    if (grid.rows > 1) grid.row_titles.push_back(translated("Sample {1}", sample + first));
  }
  return grid;
}

HeadLines selected_lines(const SelectedMap& selected) {
  const std::string of_all = place_text(selected);
  HeadLines lines;
  const bool of_tokens = axes_of(selected.map.tensor).first.empty();
  lines.title = !of_tokens                   ? selected.map.tensor
                : selected.map.title.empty() ? translated("Attention between Tokens {1}", of_all)
                                             : shown_title(selected.map.title) + "\n" + of_all;
  if (!selected.map.cells.empty()) lines.title += "\n" + selected.map.cells;
  for (const MapPlace& place : places_of(selected)) {
    lines.heads.push_back(selected_heatmap(selected, place.sample, place.head));
    if (!place.title.empty()) lines.heads.back().title = place.title;
  }
  return lines;
}

std::vector<std::size_t> drawn_heads(const SelectedMap& selected) {
  return numbers_in(selected.choice.selection.chosen_heads, selected.numbers.heads(),
                    "MapSelection::chosen_heads", counted_heads);
}

std::vector<std::size_t> drawn_samples(const SelectedMap& selected) {
  return numbers_in(selected.choice.selection.chosen_samples, selected.numbers.samples(),
                    "MapSelection::chosen_samples", counted_samples);
}

std::string heads_text(const SelectedMap& selected) {
  return axis_text(selected, NumberedThing::head, selected.choice.head);
}

std::string samples_text(const SelectedMap& selected) {
  return axis_text(selected, NumberedThing::sample, selected.choice.sample);
}

std::optional<std::string> others_warning(const SelectedMap& selected, bool grid, bool layers) {
  const MapSelection& selection = selected.choice.selection;
  const std::size_t samples = selected.numbers.samples(), heads = selected.numbers.heads();
  const bool more_samples = samples > 1 && !selection.chosen_samples &&
                            selection.samples == MapSelection::Shown::one && (!grid || layers);
  const bool more_heads =
      heads > 1 && !selection.chosen_heads && !grid && selection.heads == MapSelection::Shown::one;
  const auto next = [](std::size_t number, std::size_t count) { return (number + 1) % count; };
  const auto& [sample, head, chosen] = selected.choice;
  if (more_samples && more_heads) {
    return translated(
        "this is sample {1} of {2} and head {3} of {4}: MapSelection::chosen_samples {5} and "
        "MapSelection::chosen_heads {6} show others, mean their mean; pictures also take all",
        sample, samples, head, heads, next(sample, samples), next(head, heads));
  }
  if (more_samples) {
    return translated(
        "this is sample {1} of {2}: MapSelection::chosen_samples {3} shows another, mean their "
        "mean; pictures also take all",
        sample, samples, next(sample, samples));
  }
  if (!more_heads) return std::nullopt;
  return translated(
      "this is head {1} of {2}: MapSelection::chosen_heads {3} shows another, mean their mean; "
      "pictures also take all",
      head, heads, next(head, heads));
}

std::optional<std::string> counting_warning(const SelectedMap& selected) {
  const MapSelection& selection = selected.choice.selection;
  std::optional<std::size_t> sample, head;
  if (selection.chosen_samples && !samples_together(selection))
    sample = drawn_samples(selected).front();
  if (selection.chosen_heads && !heads_together(selection)) head = drawn_heads(selected).front();
  return counting_warning(sample, head, selected.first_number);
}

std::optional<std::string> counting_warning(std::optional<std::size_t> sample,
                                            std::optional<std::size_t> head, std::size_t first) {
  if (first == 0) return std::nullopt;
  std::string typed, drawn;
  const auto add = [](std::string& list, const std::string& name) {
    list += (list.empty() ? "" : translated(", ")) + name;
  };
  if (sample) {
    add(typed, translated("sample {1}", *sample));
    add(drawn, translated("Sample {1}", *sample + first));
  }
  if (head) {
    add(typed, translated("head {1}", *head));
    add(drawn, translated("Head {1}", *head + first));
  }
  // The first of each is what everybody takes for it.
  if (std::max(sample.value_or(0), head.value_or(0)) == 0) return std::nullopt;
  return translated(
      "the picture calls {1} \"{2}\": pictures of documents count from 1, as in tutorials, and all "
      "else from 0; FigureOptions::title gives another title",
      typed, drawn);
}

std::string place_text(const SelectedMap& selected) {
  return place_text(selected, selected.choice.sample, selected.choice.head);
}

namespace {

std::optional<std::string> merging_warning(const AttentionMap& map, const MapChoice& choice) {
  if (!choice.selection.merge_pieces) return std::nullopt;
  const Heatmap merged = selected_heatmap(SelectedMap(map, choice));
  MapChoice apart = choice;
  apart.selection.merge_pieces = false;
  const Heatmap pieces = selected_heatmap(SelectedMap(map, apart));
  if (merged.weights.shape() != pieces.weights.shape()) return std::nullopt;
  return translated(
      "nothing was merged: no label has the mark of a piece of a word, such as ##, Ġ or ▁; "
      "MapSelection::words says which pieces make a word where there are no marks");
}

}  // namespace

std::vector<std::string> choices_without_effect(const AttentionMap& map, const MapChoice& choice) {
  std::vector<std::string> warnings;
  if (!map.is_map() || !map.numbers) return warnings;
  if (auto merging = merging_warning(map, choice)) warnings.push_back(std::move(*merging));
  const MapSelection& selection = choice.selection;
  const bool all_keys = !selection.keys && selection.drop_first == 0 && selection.drop.empty();
  if (selection.renormalize && all_keys && has_rows_of_weights(map.numbers)) {
    warnings.emplace_back(
        translated("MapSelection::renormalize has no effect: no key is left out, and each row sums "
                   "to 1 as it is"));
  }
  if (selection.hide_mask && !map.allowed && !map.hidden_in_effect) {
    warnings.emplace_back(
        translated("MapSelection::hide_mask has no effect: no cell is known to be hidden"));
  }
  return warnings;
}

}  // namespace attn
