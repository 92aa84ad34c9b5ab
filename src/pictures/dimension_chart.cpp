#include "pictures/dimension_chart.hpp"

#include <string_view>

namespace attn {

DimensionChart dimension_chart(const std::vector<std::pair<std::string, Shape>>& shapes) {
  const auto named = [&](std::string_view name) -> Shape {
    for (const auto& [tensor, shape] : shapes) {
      if (tensor == name) return shape;
    }
    return {};
  };
  DimensionChart chart{named("query"), named("key"), named("value"), named("output")};
  const Shape weights = named("weights");
  chart.weights = weights;
  if (weights.size() >= 2) {
    if (chart.query.empty()) chart.query = {weights[weights.size() - 2]};
    if (chart.key.empty()) chart.key = {weights.back()};
  }
  return chart;
}

}  // namespace attn
