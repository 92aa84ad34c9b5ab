#include "pictures/stacked_steps.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {
namespace {

// What is chosen of a single step: positions are those of the whole.
MapSelection of_a_step(const MapSelection& selection) {
  if (selection.renormalize || selection.merge_pieces) {
    throw input_error(
        translated("steps are drawn as they are"),
        selection.renormalize ? "MapSelection::renormalize" : "MapSelection::merge_pieces",
        translated("leave out MapSelection::renormalize and MapSelection::merge_pieces"));
  }
  MapSelection own = selection;
  own.queries.reset();
  own.keys.reset();
  own.drop_first = 0;
  if (own.heads == MapSelection::Heads::all) own.heads = MapSelection::Heads::one;
  return own;
}

std::vector<std::string> row_labels(const Heatmap& step, std::size_t number) {
  if (!step.query_labels.empty()) return step.query_labels;
  const std::string name = translated("Step {1}", number);
  const std::size_t rows = step.weights.shape()[0];
  if (rows == 1) return {name};
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < rows; ++i) labels.push_back(name + ", Q_" + std::to_string(i + 1));
  return labels;
}

}  // namespace

Heatmap stacked_steps(std::span<const Drawable> steps, const Drawing& drawing, std::size_t head) {
  Drawing one_step = drawing;
  one_step.selection = of_a_step(drawing.selection);
  one_step.head = head;
  std::vector<Heatmap> maps;
  std::size_t rows = 0, columns = 0;
  for (const Drawable& step : steps) {
    try {
      check_is_map(step);
      const DrawableMaps all = maps_of(step);
      maps.push_back(selected_heatmap(selected(all, one_step, step)));
    } catch (const Error& error) {
      throw placed(error, step);
    }
    rows += maps.back().weights.shape()[0];
    columns = std::max(columns, maps.back().weights.shape()[1]);
  }
  const Positions queries = selected_queries(drawing.selection, rows);
  // The labels of the longest step, if it has any, name all keys.
  std::vector<std::string> all_labels;
  for (const Heatmap& map : maps) {
    if (map.key_labels.size() == columns) all_labels = map.key_labels;
  }
  const std::vector<std::size_t> keys = selected_keys(drawing.selection, columns, all_labels);

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
    const std::vector<std::string> labels = row_labels(map, s + 1);
    for (std::size_t i = 0; i < own_rows; ++i, ++row) {
      if (row < queries.first || row >= queries.end) continue;
      stack.query_labels.push_back(labels[i]);
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
  stack.key_labels = key_labels(all_labels, keys);
  const Shape shape = {queries.count(), keys.size()};
  stack.weights = Tensor(shape, std::move(weights));
  if (any_missing) stack.missing = Tensor(shape, std::move(missing));
  if (any_hidden) stack.allowed = Tensor(shape, std::move(allowed));
  stack.first_query = queries.first;
  stack.first_key = keys.front();
  stack.any_numbers = !steps[0].tensor.ends_with("weights");
  return stack;
}

}  // namespace attn
