#include "pictures/token_strip.hpp"

#include <string>
#include <utility>
#include <vector>

#include "support/translated.hpp"

namespace attn {

TokenStrip token_strip(const Drawable& drawable, const SelectedMaps& maps) {
  const Heatmap map = selected_heatmap(maps);
  const Tensor weights = map.weights.converted(DType::float64);
  const std::size_t queries = weights.shape()[0], keys = weights.shape()[1];
  std::vector<double> given(keys);
  for (std::size_t i = 0; i < queries; ++i) {
    for (std::size_t j = 0; j < keys; ++j) given[j] += weights.values<double>()[i * keys + j];
  }
  for (double& weight : given) weight /= static_cast<double>(queries);

  TokenStrip strip;
  strip.weights.weights = Tensor({1, keys}, std::move(given));
  strip.weights.any_numbers = !drawable.tensor.ends_with("weights");
  if (map.allowed) {
    // A token that any of the queries sees is not hidden.
    const Tensor allowed = map.allowed.converted(DType::boolean);
    std::vector<std::uint8_t> seen(keys);
    for (std::size_t cell = 0; cell < allowed.size(); ++cell) {
      seen[cell % keys] |= allowed.values<std::uint8_t>()[cell];
    }
    strip.weights.allowed = Tensor({1, keys}, std::move(seen));
  }
  strip.tokens = map.key_labels;
  for (std::size_t j = strip.tokens.size(); j < keys; ++j) {
    strip.tokens.push_back("K_" + std::to_string(map.first_key + j + 1));
  }
  const std::string query = map.query_labels.empty() ? "Q_" + std::to_string(map.first_query + 1)
                                                     : "\"" + map.query_labels[0] + "\"";
  const std::string what = queries == 1 ? translated("What {1} Looks at", query)
                                        : translated("Mean Weight that Each Token Gets");
  strip.title =
      (drawable.title.empty() ? "" : drawable.title + "\n") + what + " " + place_text(maps);
  // Where queries and keys are the same tokens, the query stands among them.
  const std::size_t place = map.first_query - map.first_key;
  const bool itself = queries == 1 && map.first_query >= map.first_key && place < keys &&
                      !map.query_labels.empty() && !map.key_labels.empty() &&
                      map.key_labels[place] == map.query_labels[0] &&
                      maps.weights.queries() == maps.weights.keys();
  if (itself) strip.query = place;
  return strip;
}

}  // namespace attn
