#include "plot/callouts.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "plot/example_figures.hpp"

namespace {

using namespace attn;

// A map of 40 named tokens with these weights from the first query on, all others small.
Heatmap map_with(const std::vector<double>& strong) {
  constexpr std::size_t tokens = 40;
  std::vector<double> weights(tokens * tokens, 0.01);
  for (std::size_t n = 0; n < strong.size(); ++n) weights[n * tokens + 20 + 2 * n] = strong[n];
  Heatmap map;
  map.weights = Tensor({tokens, tokens}, std::move(weights));
  for (std::size_t i = 0; i < tokens; ++i) map.key_labels.push_back("w" + std::to_string(i));
  map.query_labels = map.key_labels;
  return map;
}

std::vector<std::string> callouts_in(const Heatmap& map, const HeatmapOptions& options = {}) {
  std::vector<std::string> found;
  for (const PictureText& text : draw_heatmap(map, options, PictureFormat::png).texts) {
    if (text.text.find("\u2192") != std::string::npos) found.push_back(text.text);
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST_CASE("of values in order those are named that are well above the next") {
  using plot::count_of_strongest;
  CHECK(count_of_strongest(std::vector<double>{0.9, 0.5, 0.3, 0.1}) == 4);
  CHECK(count_of_strongest(std::vector<double>{0.9, 0.5, 0.3, 0.2, 0.15, 0.149}) == 4);
  CHECK(count_of_strongest(std::vector<double>{0.9, 0.1, 0.1, 0.1, 0.1, 0.1}) == 1);
  CHECK(count_of_strongest(std::vector<double>(6, 0.1)) == 0);
  CHECK(count_of_strongest(std::vector<double>{}) == 0);
}

TEST_CASE("the strongest cells are named where values have no room, near-ties are not") {
  CHECK(callouts_in(map_with({0.61, 0.4, 0.3})) ==
        std::vector<std::string>{"w0 \u2192 w20 0.61", "w1 \u2192 w22 0.4", "w2 \u2192 w24 0.3"});
  CHECK(callouts_in(map_with({0.61, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6})).empty());
}

TEST_CASE("no cell is named where that is not wanted, or where cells have no names") {
  HeatmapOptions options;
  options.annotation.when = Annotate::off;
  CHECK(callouts_in(map_with({0.61}), options).empty());
  options = {};
  options.figure.style = PlotStyle::matplotlib;
  CHECK(callouts_in(map_with({0.61}), options).empty());
  Heatmap unnamed = map_with({0.61});
  unnamed.query_labels.clear();
  unnamed.key_labels.clear();
  CHECK(callouts_in(unnamed).empty());
}

}  // namespace
