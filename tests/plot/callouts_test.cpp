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

// Whether a line touches a box: in steps smaller than any text.
bool passes(const plot::Point& from, const plot::Point& to, const plot::Box& box) {
  constexpr int steps = 1000;
  for (int step = 0; step <= steps; ++step) {
    const double share = static_cast<double>(step) / steps;
    const double x = from.x + share * (to.x - from.x), y = from.y + share * (to.y - from.y);
    if (x > box.left && x < box.right && y > box.top && y < box.bottom) return true;
  }
  return false;
}

TEST_CASE("the line of a named cell passes behind no other name, and through no other named cell") {
  // Three cells below each other near the right edge, as words that look at the same word.
  Heatmap map = map_with({});
  std::vector<double> weights(13 * 13, 0.01);
  for (const auto& [row, value] : {std::pair(8, 0.61), std::pair(9, 0.45), std::pair(10, 0.51)}) {
    weights[static_cast<std::size_t>(row) * 13 + 11] = value;
  }
  weights[6 * 13 + 1] = 0.56;
  weights[1 * 13 + 6] = 0.37;
  map.weights = Tensor({13, 13}, std::move(weights));
  map.key_labels.resize(13);
  map.query_labels = map.key_labels;
  const plot::Matrix matrix(map, "weights");
  FigureOptions options;
  plot::Figure figure(options, PictureFormat::svg, {3.25, 2.6});
  const plot::MapTicks ticks = plot::map_ticks(map, 13, 13, options);
  for (const double size : {120.0, 160.0, 240.0, 400.0}) {
    const auto callouts = plot::callouts_on({40, 10, 40 + size, 10 + size}, matrix, ticks, figure);
    CAPTURE(size);
    CHECK(callouts.size() >= 3);
    for (const plot::Callout& callout : callouts) {
      for (const plot::Callout& other : callouts) {
        if (&other == &callout) continue;
        CHECK_FALSE(passes(callout.from, callout.to, other.box));
        const double half = size / 13 / 2;
        CHECK_FALSE(passes(
            callout.from, callout.to,
            plot::Box{other.to.x - half, other.to.y - half, other.to.x + half, other.to.y + half}));
      }
    }
  }
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
