#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "plot/colour/colour.hpp"

namespace {

using namespace attn;
using namespace attn::plot;

Interval range(std::vector<double> values, const PlotOptions& options) {
  Heatmap heatmap;
  const std::size_t count = values.size();
  heatmap.weights = Tensor({1, count}, std::move(values));
  const Matrix matrix(heatmap, "weights");
  return colour_scale({&matrix, 1}, false, options.colors, options.figure).range;
}

ColourScale of_weights(std::vector<double> values, const PlotOptions& options = {}) {
  Heatmap heatmap;
  const std::size_t count = values.size();
  heatmap.weights = Tensor({1, count}, std::move(values));
  const Matrix matrix(heatmap, "weights");
  return colour_scale({&matrix, 1}, true, options.colors, options.figure);
}

bool same_map(const ColourMap& map, const std::string& name) {
  const ColourMap other(name);
  for (std::size_t i = 0; i < ColourMap::size(); ++i) {
    if (!(map[i] == other[i])) return false;
  }
  return true;
}

TEST_CASE("values stand in a range evenly, by logarithms or by a power") {
  CHECK(position_of(3, {1, 5}, {}) == 0.5);
  CHECK(position_of(0.1, {0.001, 10}, {ColorNorm::Kind::log, 1}) == doctest::Approx(0.5));
  CHECK(position_of(0, {0.001, 10}, {ColorNorm::Kind::log, 1}) < 0);
  CHECK(position_of(2, {1, 5}, {ColorNorm::Kind::power, 0.5}) == doctest::Approx(0.5));
  CHECK(position_of(0, {1, 5}, {ColorNorm::Kind::power, 0.5}) == 0);
}

TEST_CASE("a diverging map is centred at zero for values of both signs in the standard style") {
  PlotOptions options;
  options.colors.cmap = "RdBu_r";
  CHECK(range({-1, 3}, options).low == -3);
  CHECK(range({-4, 3}, options).high == 4);
  CHECK(range({1, 3}, options).low == 1);
  options.figure.style = PlotStyle::matplotlib;
  CHECK(range({-1, 3}, options).low == -1);
  options = {};
  options.colors.cmap = "viridis";
  CHECK(range({-1, 3}, options).low == -1);
}

std::vector<double> even(std::size_t keys) {
  return std::vector<double>(keys, 1 / static_cast<double>(keys));
}

TEST_CASE(
    "weights of up to 12 keys end at 1, others at the largest or at four times the uniform one") {
  CHECK(of_weights(even(12)).range.high == 1);
  CHECK(of_weights(even(13)).range.high == 4.0 / 13);
  CHECK(of_weights(even(60)).range.high == 4.0 / 60);
  CHECK(of_weights(even(600)).range.high == 4.0 / 600);
  std::vector<double> one = even(60);
  one[0] = 0.5, one[1] = 1.0 / 30 - 0.5 + 1.0 / 60;
  for (double& weight : one) weight = std::max(weight, 0.0);
  CHECK(of_weights(one).range.high == 0.5);
  CHECK(of_weights({0.02, 0.01}).range.high == 0.02);  // not the weights of a row
  PlotOptions log;
  log.colors.norm.kind = ColorNorm::Kind::log;
  CHECK(of_weights({0.25, 0.75}, log).range.high == 0.75);
}

TEST_CASE("a scale knows the keys of rows that sum to 1, if all queries see as many") {
  CHECK(of_weights({0.44, 0.56}).keys_of_rows == 2);
  CHECK(of_weights({0.4, 0.5}).keys_of_rows == 0);
  Heatmap heatmap;
  heatmap.weights = Tensor({2, 3}, std::vector<double>{0.5, 0.5, 0, 1, 0, 0});
  heatmap.allowed = Tensor({2, 3}, std::vector<std::uint8_t>{1, 1, 0, 1, 1, 0});
  const Matrix padded(heatmap, "weights");
  CHECK(colour_scale({&padded, 1}, true, {}, {}).keys_of_rows == 2);
  heatmap.allowed = Tensor({2, 3}, std::vector<std::uint8_t>{1, 1, 0, 1, 0, 0});
  const Matrix causal(heatmap, "weights");
  CHECK(colour_scale({&causal, 1}, true, {}, {}).keys_of_rows == 0);
}

TEST_CASE(
    "numbers that are all below zero and come near it are coloured by their distance from it") {
  const ColourScale scale = of_weights({-0.8, -1e-8});
  CHECK(same_map(scale.map, "Blues_r"));
  CHECK(scale.range.low == -0.8);
  CHECK(scale.range.high == 0);
  CHECK(range({-5, -3}, {}).high == -3);
  CHECK(range({0.05, 3}, {}).low == 0);
  CHECK(range({0.5, 3}, {}).low == 0.5);
}

// Weights of one row: so many equal ones, and others.
std::vector<double> row_of(std::size_t equal, double weight, std::vector<double> others) {
  others.resize(others.size() + equal, weight);
  return others;
}

TEST_CASE("colours of many weights follow a root where most of them would be pale") {
  // A third or less is pale: half of the weight is in two cells.
  const ColourScale strong = of_weights(row_of(300, 0.2 / 300, {0.4, 0.4}));
  CHECK(strong.norm.kind == ColorNorm::Kind::linear);
  CHECK_FALSE(strong.norm_chosen);
  // Cells of a fiftieth of the largest are pale on an even scale, and not by the square root.
  const ColourScale square = of_weights(row_of(250, 0.002, {0.1, 0.1, 0.1, 0.1, 0.1}));
  CHECK(square.norm.kind == ColorNorm::Kind::power);
  CHECK(square.norm.gamma == 1.0 / 2);
  CHECK(square.norm_chosen);
  CHECK(square.range.low == 0);
  CHECK(square.range.high == 0.1);
  // Cells of a two-hundredth of the largest are pale by the square root, too.
  const ColourScale cube = of_weights(row_of(400, 0.001, {0.2, 0.2, 0.2}));
  CHECK(cube.norm.gamma == 1.0 / 3);
  // Uniform weights are a quarter of their scale.
  CHECK(of_weights(even(300)).norm.kind == ColorNorm::Kind::linear);
  // Fewer keys, and what was asked for, stay as they are.
  CHECK(of_weights(row_of(190, 0.6 / 190, {0.4})).norm.kind == ColorNorm::Kind::linear);
  PlotOptions linear;
  linear.colors.norm.kind = ColorNorm::Kind::linear;
  CHECK_FALSE(of_weights(row_of(400, 0.001, {0.2, 0.2, 0.2}), linear).norm_chosen);
  PlotOptions matplotlib;
  matplotlib.figure.style = PlotStyle::matplotlib;
  CHECK_FALSE(of_weights(row_of(400, 0.001, {0.2, 0.2, 0.2}), matplotlib).norm_chosen);
}

TEST_CASE("zeros are pale, and numbers below zero darker the farther they are from it") {
  CHECK(range({0, 0}, {}).low == 0);
  CHECK(range({0, 0}, {}).high == 1);
  const ColourScale below = of_weights({-0.21, -0.05});
  CHECK(same_map(below.map, "Blues_r"));
  CHECK(below.range.low == -0.21);
  CHECK(below.range.high == -0.05);
}

TEST_CASE("weights begin at zero, other numbers span what they span") {
  CHECK(of_weights({0.44, 0.56}).range.low == 0);
  CHECK(of_weights({0, 0}).range.high == 0.1);
  CHECK(same_map(of_weights({0.44, 0.56}).map, "YlOrRd"));
  CHECK(range({100, 101}, {}).low == 100);
  PlotOptions matplotlib;
  matplotlib.figure.style = PlotStyle::matplotlib;
  CHECK(of_weights({0.44, 0.56}, matplotlib).range.low == 0.44);
}

TEST_CASE("numbers of both signs get a diverging map about zero by themselves") {
  const ColourScale scale = of_weights({-0.5, 0.25});
  CHECK(same_map(scale.map, "RdBu_r"));
  CHECK(scale.range.low == -0.5);
  CHECK(scale.range.high == 0.5);
  PlotOptions matplotlib;
  matplotlib.figure.style = PlotStyle::matplotlib;
  CHECK(same_map(of_weights({-0.5, 0.25}, matplotlib).map, "YlOrRd"));
}

TEST_CASE("a range that was given tells at which end numbers lie beyond it") {
  PlotOptions options;
  options.colors.range = {ColorRange::Scope::given, 0.2, 0.5};
  const ColourScale scale = of_weights({0.1, 0.4}, options);
  CHECK(scale.beyond_low);
  CHECK_FALSE(scale.beyond_high);
}

TEST_CASE("a logarithmic scale begins above zero, and spans six decades at most") {
  PlotOptions options;
  options.colors.norm.kind = ColorNorm::Kind::log;
  CHECK(range({0, 0.01, 1}, options).low == 0.01);
  CHECK(range({0, 1e-30, 1}, options).low == doctest::Approx(1e-6));
  CHECK(range({0, 0}, options).low > 0);
  options.figure.style = PlotStyle::matplotlib;
  CHECK(range({0, 1e-30, 1}, options).low == 1e-30);
  options.colors.range = {ColorRange::Scope::given, 0, 1};
  CHECK_THROWS_WITH_AS(range({1}, options),
                       doctest::Contains("the colour range of a logarithmic scale does not begin "
                                         "above 0"),
                       Error);
}

TEST_CASE("a logarithmic scale of the smallest and largest numbers has finite places") {
  PlotOptions options;
  options.colors.norm.kind = ColorNorm::Kind::log;
  for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
    options.figure.style = style;
    for (const std::vector<double>& values :
         {std::vector<double>{5e-324}, {5e-324, 1e-320}, {0, 1e-300}, {1e-300, 1e300}}) {
      const Interval found = range(values, options);
      CHECK(found.low > 0);
      CHECK(found.high > found.low);
      CHECK(position_of(values.back(), found, options.colors.norm) <= 1);
      CHECK(position_of(found.high, found, options.colors.norm) == 1);
      CHECK(position_of(found.low, found, options.colors.norm) == 0);
    }
  }
  options.colors.range = {ColorRange::Scope::given, 1e-308, 1e300};
  const Interval given = range({1}, options);
  CHECK(position_of(1e10, given, options.colors.norm) == doctest::Approx(0.5));
  options.colors.range = {ColorRange::Scope::given, 1e-320, 1e-319};
  CHECK(range({1}, options).low < range({1}, options).high);
}

TEST_CASE("what has no place in a map has a colour apart from all of it") {
  for (const auto name : colour_maps()) {
    CAPTURE(name);
    const ColourMap map{std::string(name)};
    for (std::size_t i = 0; i < ColourMap::size(); ++i) CHECK_FALSE(map[i] == map.apart(0));
  }
}

}  // namespace

TEST_CASE("a range is that of what is shown if it begins at zero or has it in its middle") {
  attn::plot::Interval weights{0, 1}, signs{-4, 4}, other{1, 5}, uniform{0, 1};
  CHECK(attn::plot::narrow_to_shown(uniform, {0, 0.01}, 0.04));
  CHECK(uniform.high == 0.04);
  CHECK(attn::plot::narrow_to_shown(weights, {0, 0.25}));
  CHECK(weights.high == 0.25);
  CHECK(attn::plot::narrow_to_shown(signs, {-0.5, 2}));
  CHECK(signs.low == -2);
  CHECK(signs.high == 2);
  CHECK_FALSE(attn::plot::narrow_to_shown(other, {2, 3}));
  CHECK(other.low == 1);
  CHECK_FALSE(attn::plot::narrow_to_shown(weights, {0, 0}));
}
