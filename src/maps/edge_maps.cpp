#include "maps/edge_maps.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "io/raw_array.hpp"
#include "support/memory.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Whether all numbers can count nodes.
bool counts_nodes(const Tensor& tensor) {
  constexpr double most_nodes = 1e7;
  const Tensor wide = tensor.converted(DType::float64);
  return std::ranges::all_of(wide.values<double>(), [](double number) {
    return number >= 0 && number < most_nodes && std::trunc(number) == number;
  });
}

std::string_view folder_of(std::string_view name) {
  const std::size_t point = name.rfind('.');
  return point == name.npos ? std::string_view() : name.substr(0, point);
}

}  // namespace

std::vector<EdgeList> edge_lists(ResultReader& file) {
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const std::string& name : file.names()) {
    try {
      if (const Tensor tensor = file.numbers(name)) shapes.emplace_back(name, tensor.shape());
    } catch (const Error&) {
      continue;  // one that cannot be read
    }
  }
  std::vector<EdgeList> lists;
  for (const auto& [nodes, shape] : shapes) {
    if (shape.size() != 2 || shape[0] != 2 || shape[1] < 2) continue;
    const std::size_t before = lists.size();
    for (const auto& [weights, own] : shapes) {
      const bool fits = (own.size() == 1 || own.size() == 2) && own[0] == shape[1];
      if (fits && weights != nodes && folder_of(weights) == folder_of(nodes)) {
        lists.push_back({nodes, weights});
      }
    }
    if (lists.size() > before && !counts_nodes(file.numbers(nodes))) lists.resize(before);
  }
  return lists;
}

Tensor map_of_edges(ResultReader& file, const EdgeList& list) {
  const Tensor nodes = file.numbers(list.nodes).converted(DType::float64),
               weights = file.numbers(list.weights).converted(DType::float64);
  const auto node = nodes.values<double>();
  const auto weight = weights.values<double>();
  const std::size_t edges = nodes.shape()[1], heads = weights.size() / edges;
  const std::size_t count = static_cast<std::size_t>(*std::ranges::max_element(node)) + 1;
  const double elements =
      static_cast<double>(heads) * static_cast<double>(count) * static_cast<double>(count);
  check_element_limit(elements, file.access().limits.elements,
                      translated("the map of {1} nodes", count), file.name());
  check_memory(heads * count * count, sizeof(double), translated("the map of {1} nodes", count),
               file.name());
  std::vector<double> numbers(heads * count * count, 0);
  for (std::size_t edge = 0; edge < edges; ++edge) {
    const auto from = static_cast<std::size_t>(node[edge]),
               to = static_cast<std::size_t>(node[edges + edge]);
    for (std::size_t head = 0; head < heads; ++head) {
      numbers[(head * count + to) * count + from] += weight[edge * heads + head];
    }
  }
  Shape shape{count, count};
  if (weights.rank() == 2) shape.insert(shape.begin(), heads);
  return {shape, std::move(numbers)};
}

}  // namespace attn
