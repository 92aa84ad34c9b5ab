#include "run/named_pictures.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "pictures/picture_kinds.hpp"

namespace attn {
namespace {

// Which attention of a layer it is: "self" of "layers.0.self", "encoder.self" of
// "encoder.layers.0.self".
std::string stack_sort(const std::string& name) {
  const std::size_t layers = name.find("layers.");
  if (layers == std::string::npos) return name;
  return name.substr(0, layers) + name.substr(name.rfind('.') + 1);
}

// The place of a layer's number in a name, "layers.11.self", and its digits; none if there is none.
std::pair<std::size_t, std::size_t> layer_digits(const std::string& name) {
  constexpr std::string_view before = "layers.";
  const std::size_t at = name.find(before);
  if (at == std::string::npos) return {name.size(), 0};
  const std::size_t first = at + before.size();
  return {first, std::min(name.find('.', first), name.size()) - first};
}

// Files of layers stand in their order by name: layers.02 before layers.10.
std::string in_order(std::string name, std::size_t digits) {
  const auto [first, own] = layer_digits(name);
  if (own > 0 && own < digits) name.insert(first, digits - own, '0');
  return name;
}

}  // namespace

std::vector<NamedPicture> pictures_of(PlotKind kind,
                                      const std::vector<PlannedAttention>& attentions,
                                      bool of_model) {
  const PictureKind& row = picture_kind(kind);
  if (!row.info.of_runs) return {};
  const std::string stem(row.info.name);
  if (row.unit == PictureKind::Unit::run) return {{stem, {0}}};
  const bool together = row.unit == PictureKind::Unit::sort;
  const std::size_t digits = layer_digits(attentions.back().prefix).second;
  std::vector<NamedPicture> pictures;
  std::vector<std::string> sorts;
  for (std::size_t i = 0; i < attentions.size(); ++i) {
    std::string sort = attentions[i].prefix;
    if (!sort.empty()) sort.pop_back();
    if (together) sort = stack_sort(sort);
    if (kind == PlotKind::mask && of_model && attentions[i].mask.window) sort += ".window";
    const auto known = std::find(sorts.begin(), sorts.end(), sort);
    if (known == sorts.end()) {
      sorts.push_back(sort);
      pictures.push_back({i == 0 ? stem : stem + "." + in_order(sort, digits), {i}});
    } else {
      pictures[static_cast<std::size_t>(known - sorts.begin())].attentions.push_back(i);
    }
  }
  return pictures;
}

}  // namespace attn
