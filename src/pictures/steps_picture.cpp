#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "pictures/drawing.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Selection of a single step. Chosen positions are those of all steps together.
MapSelection of_a_step(const MapSelection& selection) {
  MapSelection own = selection;
  own.queries.reset();
  own.keys.reset();
  own.query.reset();
  own.drop_first = 0;
  own.drop.clear();
  return own;
}

std::vector<std::string> row_labels(const Heatmap& step, std::size_t index) {
  if (!step.query_labels.empty()) return step.query_labels;
  const std::string name = translated("Step {1}", index + step.first_number);
  const std::size_t rows = step.weights.shape()[0];
  if (rows == 1) return {name};
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < rows; ++i) {
    labels.push_back(name + (step.first_number == 0 ? ", " : ", Q_") +
                     std::to_string(i + step.first_number));
  }
  return labels;
}

// Maps of some steps, [Lq,Lk] each with an Lk of its own, one below the other: cells beyond a
// step's keys are missing. Throws Error(input) naming the file of a step that does not hold the
// sample or the head.
Heatmap stacked_steps(std::span<const DrawnMap> steps, const Drawing& drawing,
                      const MapPlace& place) {
  const MapChoice one_step{place.sample, place.head, of_a_step(drawing.choice.selection)};
  std::vector<Heatmap> maps;
  std::size_t rows = 0, columns = 0;
  for (const DrawnMap& step : steps) {
    try {
      check_is_map(step.map);
      maps.push_back(selected_heatmap(SelectedMap(step.map, one_step)));
    } catch (const Error& error) {
      throw placed(error, step.map);
    }
    rows += maps.back().weights.shape()[0];
    columns = std::max(columns, maps.back().weights.shape()[1]);
  }
  std::vector<std::string> row_names;
  for (std::size_t s = 0; s < maps.size(); ++s) {
    for (std::string& name : row_labels(maps[s], s)) row_names.push_back(std::move(name));
  }
  const Positions queries = selected_queries(drawing.choice.selection, rows, row_names);
  // The labels of the longest step, if it has any, name all keys.
  std::vector<std::string> all_labels;
  for (const Heatmap& map : maps) {
    if (map.key_labels.size() == columns) all_labels = map.key_labels;
  }
  const std::vector<std::size_t> keys =
      selected_keys(drawing.choice.selection, columns, all_labels);

  Heatmap stack;
  std::vector<double> weights(queries.count() * keys.size(),
                              std::numeric_limits<double>::quiet_NaN());
  std::vector<std::uint8_t> missing(weights.size(), 1), allowed(weights.size(), 1);
  bool any_missing = false, any_hidden = false;
  std::size_t row = 0;
  for (std::size_t s = 0; s < maps.size(); ++s) {
    const Heatmap& map = maps[s];
    const std::size_t own_rows = map.weights.shape()[0], own_keys = map.weights.shape()[1];
    const Tensor numbers = map.weights.converted(DType::float64);
    const Tensor seen = map.allowed ? map.allowed.converted(DType::boolean) : Tensor();
    for (std::size_t i = 0; i < own_rows; ++i, ++row) {
      if (row < queries.first || row >= queries.end) continue;
      any_missing = any_missing || own_keys <= keys.back();
      for (std::size_t k = 0; k < keys.size() && keys[k] < own_keys; ++k) {
        const std::size_t cell = (row - queries.first) * keys.size() + k, j = keys[k];
        weights[cell] = numbers.values<double>()[i * own_keys + j];
        missing[cell] = 0;
        if (seen && seen.values<std::uint8_t>()[i * own_keys + j] == 0) {
          allowed[cell] = 0;
          any_hidden = true;
        }
      }
    }
  }
  stack.query_labels = part_of(row_names, queries);
  stack.first_number = maps[0].first_number;
  stack.key_labels = key_labels(all_labels, keys, stack.first_number);
  const Shape shape = {queries.count(), keys.size()};
  stack.weights = Tensor(shape, std::move(weights));
  if (any_missing) stack.missing = Tensor(shape, std::move(missing));
  if (any_hidden) stack.allowed = Tensor(shape, std::move(allowed));
  stack.first_query = queries.first;
  stack.first_key = keys.front();
  stack.any_numbers = !steps[0].map.holds_weights();
  return stack;
}

}  // namespace

Picture draw_steps(const Drawing& drawing) {
  const AttentionMap& first = drawing.of[0].map;
  const SelectedMap chosen(first, drawing.choice);
  PlotOptions options = options_for(drawing, first);
  if (!options.figure.ylabel) options.figure.ylabel = translated("Step");
  if (!options.figure.title) {
    options.figure.title =
        title_or(first.title, translated("Decoding Steps") + " ") + place_text(chosen);
  }
  std::vector<Heatmap> maps;
  for (const MapPlace& place : places_of(chosen)) {
    maps.push_back(stacked_steps(drawing.of, drawing, place));
    maps.back().title = place.title;
  }
  if (!side_by_side(drawing.choice.selection))
    return draw_heatmap(maps[0], options.heatmap(), drawing.format);
  return draw_grid({1, maps.size(), std::move(maps), head_side}, options.grid(), drawing.format);
}

}  // namespace attn
