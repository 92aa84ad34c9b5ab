#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/plot.hpp"

#include "error_from.hpp"
#include "plot/decoded_picture.hpp"
#include "plot/example_figures.hpp"

namespace {

using namespace attn;

HeatmapGrid grid_of(std::size_t rows, std::size_t columns, std::size_t queries = 4,
                    std::size_t keys = 4) {
  HeatmapGrid grid;
  grid.rows = rows;
  grid.columns = columns;
  for (std::size_t i = 0; i < rows * columns; ++i) {
    Heatmap panel;
    panel.weights = test::example_weights(queries, keys, i);
    grid.panels.push_back(panel);
  }
  return grid;
}

GridOptions small() {
  GridOptions options;
  options.figure.dpi = 50;
  return options;
}

std::string bytes_of(const HeatmapGrid& grid, const GridOptions& options) {
  return draw_grid(grid, options, PictureFormat::png).bytes;
}

std::string error_of(const HeatmapGrid& grid, const GridOptions& options,
                     ErrorKind kind = ErrorKind::input) {
  return error_from([&] { bytes_of(grid, options); }, kind);
}

TEST_CASE("several panels are titled by their heads, a single one is not") {
  GridOptions heads = small(), none = small();
  heads.titles = {"Head 1", "Head 2"};
  none.titles = std::vector<std::string>{};
  const auto grid = grid_of(2, 2);
  CHECK(bytes_of(grid, small()) == bytes_of(grid, heads));
  CHECK(bytes_of(grid, small()) != bytes_of(grid, none));
  CHECK(bytes_of(grid_of(1, 1), small()) == bytes_of(grid_of(1, 1), none));
}

TEST_CASE("panels' own titles go before the default ones") {
  GridOptions named = small();
  named.titles = {"Layer 1"};
  auto grid = grid_of(1, 1);
  grid.panels[0].title = "Layer 1";
  CHECK(bytes_of(grid, small()) == bytes_of(grid, named));
}

TEST_CASE("a title of the whole figure stands above it") {
  GridOptions titled = small();
  titled.figure.title = "All heads";
  const auto grid = grid_of(2, 3);
  const auto without = test::decode_png(bytes_of(grid, small()));
  const auto with = test::decode_png(bytes_of(grid, titled));
  CHECK(with.height > without.height + 10);
  CHECK(with.width == without.width);
}

TEST_CASE(
    "many heads in one row become rows without a hole, and a thousand of them still a picture") {
  const auto description = [](std::size_t heads) {
    return draw_grid(grid_of(1, heads), small(), PictureFormat::svg).description;
  };
  CHECK(description(24).starts_with("Heatmaps in 4 rows and 6 columns"));
  CHECK(description(7).starts_with("Heatmaps in 3 rows and 3 columns"));
  GridOptions options;
  const auto all = test::decode_png(bytes_of(grid_of(32, 32), options));
  CHECK(all.width < 9000);
  CHECK(all.height < 9000);
}

TEST_CASE("titles of rows shrink before they lose their words") {
  HeatmapGrid grid = grid_of(4, 2);
  for (const char* number : {"0", "1", "2", "3"}) {
    grid.row_titles.push_back(std::string("Decoder Layer ") + number);
  }
  const Picture picture = draw_grid(grid, small(), PictureFormat::svg);
  CHECK(std::any_of(picture.texts.begin(), picture.texts.end(), [](const PictureText& text) {
    return text.text == "Decoder Layer 3" && text.degrees == 90;
  }));
}

TEST_CASE("a name of usual length is not cut beside a flat row of panels") {
  HeatmapGrid grid{1, 3, {}};
  for (int i = 0; i < 3; ++i) {
    grid.panels.emplace_back().weights = Tensor({1, 11}, std::vector<double>(11, 1.0 / 11));
  }
  const Picture picture = draw_grid(grid, small(), PictureFormat::svg);
  CHECK(std::none_of(picture.texts.begin(), picture.texts.end(), [](const PictureText& text) {
    return text.text.find("\u2026") != std::string::npos;
  }));
}

TEST_CASE("panels may have a range of colours each") {
  auto grid = grid_of(1, 2);
  grid.panels[1].weights = Tensor({4, 4}, std::vector<double>(16, 100.0));
  GridOptions panel = small();
  panel.colors.range.scope = ColorRange::Scope::panel;
  CHECK(bytes_of(grid, panel) != bytes_of(grid, small()));
}

TEST_CASE("grids of many sizes and shapes can be drawn in every format") {
  for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
    GridOptions options = small();
    options.figure.style = style;
    for (const auto format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
      CHECK_FALSE(draw_grid(grid_of(1, 1, 2, 10), options, format).bytes.empty());
      CHECK_FALSE(draw_grid(grid_of(3, 5, 70, 7), options, format).bytes.empty());
    }
  }
}

TEST_CASE("values are as large in all panels, though those of one are longer") {
  HeatmapGrid grid = grid_of(1, 2);
  for (Heatmap& panel : grid.panels) panel.any_numbers = true;
  grid.panels[0].weights = Tensor({4, 4}, std::vector<double>(16, 1));
  grid.panels[1].weights = Tensor({4, 4}, std::vector<double>(16, 12345));
  GridOptions options;
  options.annotation.when = Annotate::on;
  options.annotation.format = ".1f";
  options.figure.figsize = {5, 3};
  const std::string svg = draw_grid(grid, options, PictureFormat::svg).bytes;
  const auto size_before = [&](const std::string& text) {
    const std::size_t end = svg.find(">" + text + "<");
    REQUIRE(end != std::string::npos);
    const std::size_t at = svg.rfind("font-size=\"", end);
    return svg.substr(at, svg.find('"', at + 11) - at);
  };
  CHECK(size_before("1.0") == size_before("12345.0"));
}

TEST_CASE("panels that do not fill the grid are refused") {
  auto grid = grid_of(2, 2);
  grid.panels.resize(2);
  CHECK(error_of(grid, {}) ==
        "2 panels do not fill a grid of 2 × 2\n"
        "  help:  give one matrix for each place, row by row");
  CHECK(error_of(grid_of(0, 0), {}) ==
        "0 panels do not fill a grid of 0 × 0\n"
        "  help:  give one matrix for each place, row by row");
}

TEST_CASE("panels of different shapes are refused") {
  auto grid = grid_of(1, 2);
  grid.panels[1].weights = test::example_weights(4, 5);
  CHECK(error_of(grid, {}) ==
        "weights of shape [4,5] stand beside weights of shape [4,4]\n"
        "  where: panel 2\n"
        "  help:  panels share their axes: all must have the same shape");
}

TEST_CASE("a row of many panels is wrapped, and each of its panels can be named") {
  GridOptions options = small();
  options.titles = {"a", "b", "c", "d", "e", "f", "last"};
  const Picture picture = draw_grid(grid_of(1, 7), options, PictureFormat::png);
  const auto line = [&](const std::string& text) {
    return std::find_if(picture.texts.begin(), picture.texts.end(),
                        [&](const PictureText& own) { return own.text == text; });
  };
  REQUIRE(line("last") != picture.texts.end());
  CHECK(line("last")->y > line("a")->y + 20);
}

TEST_CASE("a row of few panels is wrapped where the width alone is given and names have no room") {
  auto scope = ColorRange::Scope::shared;
  const auto rows = [&](std::size_t panels, double width, double height) {
    GridOptions options = small();
    options.colors.range.scope = scope;
    options.figure.figsize = {width, height};
    options.figure.exact_size = true;
    std::vector<double> tops;
    for (const PictureFrame& frame :
         draw_grid(grid_of(1, panels), options, PictureFormat::svg).frames) {
      // The bar's frame is no panel's.
      if (frame.right - frame.left < 20) continue;
      if (tops.empty() || std::abs(tops.back() - frame.top) > 5) tops.push_back(frame.top);
    }
    return tops.size();
  };
  CHECK(rows(4, 3.25, 0) == 2);
  CHECK(rows(3, 3.25, 0) == 2);
  CHECK(rows(2, 3.25, 0) == 1);
  CHECK(rows(4, 6.75, 0) == 1);
  CHECK(rows(6, 6.75, 0) == 2);
  CHECK(rows(4, 3.25, 2) == 1);
  scope = ColorRange::Scope::panel;
  CHECK(rows(2, 3.25, 0) == 2);
  CHECK(rows(2, 6.75, 0) == 1);
  CHECK(rows(4, 3.25, 0) == 2);
  CHECK(rows(4, 6.75, 0) == 2);
}

TEST_CASE("names that are numbers thin out in narrow panels, and are counted as they are") {
  HeatmapGrid grid{1, 4, {}};
  for (std::size_t n = 0; n < 4; ++n) {
    Heatmap& panel = grid.panels.emplace_back();
    panel.weights = Tensor({24, 24}, std::vector<double>(24 * 24, 1.0 / 24));
    for (std::size_t i = 0; i < 24; ++i) panel.query_labels.push_back(std::to_string(i));
    panel.key_labels = panel.query_labels;
  }
  const Picture picture = draw_grid(grid, small(), PictureFormat::svg);
  CHECK(picture.warnings.empty());
  CHECK(std::ranges::count(picture.texts, std::string("0"), &PictureText::text) == 5);
  CHECK(std::ranges::count(picture.texts, std::string("1"), &PictureText::text) == 0);
}

TEST_CASE("panels of one number share a range of colours where each has its own") {
  auto grid = grid_of(1, 2);
  grid.panels[1].weights = Tensor({4, 4}, std::vector<double>(16, 100.0));
  for (Heatmap& panel : grid.panels) panel.any_numbers = true;
  GridOptions options = small();
  options.colors.range.scope = ColorRange::Scope::panel;
  const auto hundreds = [&] {
    const Picture picture = draw_grid(grid, options, PictureFormat::svg);
    return std::ranges::count(picture.texts, std::string("100"), &PictureText::text);
  };
  grid.ranges = {0, 1};
  const auto apart = hundreds();
  grid.ranges = {0, 0};
  CHECK(hundreds() == apart + 1);
}

TEST_CASE("titles that do not match the columns are refused") {
  GridOptions options;
  options.titles = {"a", "b", "c"};
  CHECK(error_of(grid_of(2, 2), options, ErrorKind::usage) ==
        "3 titles for 2 columns\n"
        "  where: PlotOptions::titles\n"
        "  help:  give one title for each column, or none");
}

}  // namespace
