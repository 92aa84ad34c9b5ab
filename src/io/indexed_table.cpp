#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "io/raw_array.hpp"
#include "io/text_matrices.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

enum Axis : std::size_t { layer, sample, head, query, key, axes };

constexpr auto names = std::to_array<std::pair<std::string_view, Axis>>({
    {"layer", layer},
    {"sample", sample},
    {"batch", sample},
    {"head", head},
    {"query", query},
    {"row", query},
    {"target", query},
    {"dst", query},
    {"to", query},
    {"key", key},
    {"column", key},
    {"col", key},
    {"source", key},
    {"src", key},
    {"from", key},
});

std::string lower_case(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

// Whether the column has the nodes that edges lead from.
bool is_node(const std::string& column) {
  const std::string name = lower_case(column);
  return name == "source" || name == "src" || name == "from";
}

std::optional<Axis> axis_named(const std::string& column) {
  const std::string name = lower_case(column);
  const auto at = std::ranges::find(names, name, &std::pair<std::string_view, Axis>::first);
  return at == names.end() ? std::nullopt : std::optional(at->second);
}

// The columns that hold indices, and those of the weights.
struct Columns {
  std::array<std::optional<std::size_t>, axes> of;
  std::vector<std::size_t> weights;
};

std::optional<Columns> columns_of(const std::vector<std::string>& header) {
  Columns columns;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const std::optional<Axis> axis = axis_named(header[i]);
    if (!axis) {
      columns.weights.push_back(i);
    } else if (std::exchange(columns.of[*axis], i)) {
      return std::nullopt;  // two of one axis
    }
  }
  const bool pairs = columns.of[key] && columns.weights.size() == 1;
  const bool wide = !columns.of[key] && columns.weights.size() > 1;
  return columns.of[query] && (pairs || wide) ? std::optional(columns) : std::nullopt;
}

std::size_t index_in(const std::string& field, const std::string& column, std::size_t row) {
  std::size_t index = 0;
  constexpr std::size_t most = 1'000'000;
  if (parse_number(field, index) && index < most) return index;
  throw input_error(translated("{1} is not an index of the column {2}", in_quotes(field), column),
                    row_place(row + 1),
                    translated("give whole numbers from 0, or a matrix with a row per query"));
}

}  // namespace

std::optional<Tensor> indexed_table(const std::vector<std::string>& header,
                                    const std::vector<std::vector<std::string>>& rows,
                                    const Limits& limits) {
  const std::optional<Columns> columns = columns_of(header);
  if (!columns || rows.empty()) return std::nullopt;
  // 1. The indices, and the size of each axis that has a column.
  std::array<std::size_t, axes> sizes{1, 1, 1, 1, 1};
  std::vector<std::array<std::size_t, axes>> places;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].size() != header.size()) return std::nullopt;
    std::array<std::size_t, axes>& place = places.emplace_back();
    for (std::size_t axis = 0; axis < axes; ++axis) {
      if (const auto column = columns->of[axis])
        place[axis] = index_in(rows[r][*column], header[*column], r);
      sizes[axis] = std::max(sizes[axis], place[axis] + 1);
    }
  }
  if (!columns->of[key]) sizes[key] = columns->weights.size();
  // Nodes of a graph are queries and keys alike.
  const bool of_graph = columns->of[key] && is_node(header[*columns->of[key]]);
  if (of_graph) sizes[query] = sizes[key] = std::max(sizes[query], sizes[key]);
  // 2. The weights at their places.
  double count = 1;
  for (const std::size_t size : sizes) count *= static_cast<double>(size);
  check_element_limit(
      count < 1e18 ? static_cast<std::size_t>(count) : std::numeric_limits<std::size_t>::max(),
      limits.elements, "");
  std::vector<double> numbers(static_cast<std::size_t>(count), 0);
  std::vector<bool> taken(numbers.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t w = 0; w < columns->weights.size(); ++w) {
      std::array<std::size_t, axes> place = places[r];
      if (!columns->of[key]) place[key] = w;
      std::size_t at = 0;
      for (std::size_t axis = 0; axis < axes; ++axis) at = at * sizes[axis] + place[axis];
      const std::string& field = rows[r][columns->weights[w]];
      double number = std::numeric_limits<double>::quiet_NaN();
      if (!field.empty() && !parse_number(field, number)) return std::nullopt;
      if (taken[at]) {
        throw input_error(translated("the weight of a query and a key stands twice"),
                          row_place(r + 1), translated("leave one of them out"));
      }
      taken[at] = true;
      numbers[at] = number;
    }
  }
  Shape shape;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (axis >= query || columns->of[axis]) shape.push_back(sizes[axis]);
  }
  return Tensor(std::move(shape), std::move(numbers));
}

}  // namespace attn
