#include "plot/parts.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

namespace {

const attn::PictureText* part_text(const attn::Picture& picture, const std::string& text) {
  for (const attn::PictureText& one : picture.texts) {
    if (one.text == text) return &one;
  }
  return nullptr;
}

attn::PathGraph small_path() {
  attn::PathGraph graph;
  graph.rows = {"Embedding", "Layer 0", "Layer 1"};
  graph.columns = {"the", "law"};
  graph.nodes = {{2, 1, "1.0"}, {1, 0, "0.1"}, {0, 1, "embedding"}, {0, 0, ""}};
  graph.edges = {{3, 1, 0}, {1, 0, 1}, {2, 0, -0.4}};
  return graph;
}

}  // namespace

TEST_CASE("bars stand below one another in their order, with the names of their groups") {
  attn::BarChart chart;
  chart.bars = {{"1.1", 3, 0}, {"embedding", -1, 0}, {"0.2", 2, 1}};
  chart.group_names = {"key", "query"};
  chart.value_name = "score";
  const attn::Picture picture = attn::draw_bars(chart, {}, attn::PictureFormat::svg);
  const auto *first = part_text(picture, "1.1"), *second = part_text(picture, "embedding"),
             *third = part_text(picture, "0.2");
  REQUIRE(first != nullptr);
  REQUIRE(second != nullptr);
  REQUIRE(third != nullptr);
  // A line with the name of the second group stands between its bars and the first ones.
  CHECK(third->y - second->y > 2 * (second->y - first->y));
  REQUIRE(part_text(picture, "query") != nullptr);
  CHECK(part_text(picture, "query")->y > second->y);
  CHECK(part_text(picture, "query")->y < third->y);
  CHECK(part_text(picture, "\u22121") != nullptr);  // at the end of its bar
  chart.group_sums = {5.86, 5.5};
  const attn::Picture summed = attn::draw_bars(chart, {}, attn::PictureFormat::svg);
  CHECK(part_text(summed, "key: sum 5.86") != nullptr);
  CHECK(part_text(summed, "query: sum 5.5") != nullptr);
  CHECK(part_text(picture, "score") != nullptr);
  CHECK(picture.description.ends_with("3 bars, the longest 1.1."));
  chart.bars[1].value = INFINITY;
  CHECK(error_from([&] { attn::draw_bars(chart, {}, attn::PictureFormat::svg); }) ==
        "the bar embedding has no finite length\n  help:  leave it out");
  chart.bars.clear();
  CHECK(error_from([&] { attn::draw_bars(chart, {}, attn::PictureFormat::svg); }) ==
        "there are no bars to draw\n  help:  give at least one");
}

TEST_CASE("a path has layers from below and positions from the left") {
  const attn::PathGraph graph = small_path();
  const attn::Picture picture = attn::draw_path(graph, {}, attn::PictureFormat::svg);
  const auto *top = part_text(picture, "1.0"), *left = part_text(picture, "0.1"),
             *low = part_text(picture, "embedding");
  REQUIRE(top != nullptr);
  REQUIRE(left != nullptr);
  REQUIRE(low != nullptr);
  CHECK(top->y < left->y);
  CHECK(left->y < low->y);
  CHECK(left->x < top->x);
  for (const char* text : {"raises the sum", "lowers the sum", "looks at", "Layer 1", "law"}) {
    CAPTURE(text);
    CHECK(part_text(picture, text) != nullptr);
  }
  attn::PathGraph outside = graph;
  outside.nodes[0].row = 3;
  CHECK(error_from([&] { attn::draw_path(outside, {}, attn::PictureFormat::svg); }) ==
        "a node is outside the rows and columns\n  help:  leave it out");
}

TEST_CASE("names of a path stay apart, and are whole where the figure is as wide as they ask for") {
  attn::PathGraph graph;
  graph.rows = {"Embedding", "Layer 0", "Layer 1", "Logit"};
  graph.columns = {"the", "internationalisation", "of", "law"};
  graph.nodes.push_back({3, 3, "the token with the longest name of all"});
  for (std::size_t column = 0; column < graph.columns.size(); ++column) {
    for (std::size_t row = 0; row + 1 < graph.rows.size(); ++row) {
      for (int n = 0; n < 3; ++n) {
        graph.edges.push_back({graph.nodes.size(), 0, 0.5, "\u22120.00123"});
        graph.nodes.push_back({row, column, "encoder." + std::to_string(n) + ".feed_forward"});
      }
    }
  }
  // Names have frames, two points around them, within that of the chart.
  const auto are_apart = [](const attn::Picture& picture) {
    std::vector<attn::PictureFrame> boxes;
    for (const attn::PictureText& text : picture.texts) {
      if (!text.text.starts_with("e")) continue;
      boxes.push_back({text.x + text.left - 2, text.y + text.top - 2, text.x + text.right + 2,
                       text.y + text.bottom + 2});
    }
    const attn::PictureFrame& chart = picture.frames.at(0);
    bool apart = boxes.size() == 36;
    for (std::size_t a = 0; a < boxes.size(); ++a) {
      apart = apart && boxes[a].left >= chart.left && boxes[a].right <= chart.right;
      for (std::size_t b = 0; b < a; ++b) {
        apart = apart && (boxes[a].left >= boxes[b].right || boxes[b].left >= boxes[a].right ||
                          boxes[a].top >= boxes[b].bottom || boxes[b].top >= boxes[a].bottom);
      }
    }
    return apart;
  };
  const std::string name = "encoder.2.feed_forward: \u22120.00123";
  const attn::Picture wide = attn::draw_path(graph, {}, attn::PictureFormat::svg);
  CHECK(are_apart(wide));
  CHECK(part_text(wide, name) != nullptr);
  attn::FigureOptions narrow;
  narrow.figsize = {3.5, 4};
  const attn::Picture small = attn::draw_path(graph, narrow, attn::PictureFormat::svg);
  CHECK(are_apart(small));
  CHECK(part_text(small, name) == nullptr);
  CHECK(std::ranges::count_if(small.texts, [](const attn::PictureText& text) {
          return text.text.find("\u2026") != std::string::npos;
        }) >= 36);
}

TEST_CASE("bars and paths are drawn in every format, and on every ground") {
  attn::BarChart chart;
  for (int n = 0; n < 24; ++n) chart.bars.push_back({"part " + std::to_string(n), n - 5.0, 0});
  for (const auto format :
       {attn::PictureFormat::png, attn::PictureFormat::svg, attn::PictureFormat::pdf}) {
    attn::FigureOptions options;
    options.dpi = 72;
    options.background = attn::Background::dark;
    CHECK(!attn::draw_bars(chart, options, format).bytes.empty());
    CHECK(!attn::draw_path(small_path(), options, format).bytes.empty());
  }
}

TEST_CASE("stacked bars show each share that has room, and name the parts beside them") {
  attn::plot::StackedBars chart;
  chart.parts = {"first", "answer"};
  chart.rows = {{"0.0", {0.75, 0.25}}, {"1.3", {0.002, 0.998}}};
  chart.value_name = "Share";
  const attn::Picture picture = attn::plot::draw_stacked_bars(chart, {}, attn::PictureFormat::svg);
  for (const char* text : {"0.0", "1.3", "first", "answer", "0.75", "0.25", "Share"})
    CHECK(part_text(picture, text) != nullptr);
  CHECK(part_text(picture, "0.00") == nullptr);
  CHECK(part_text(picture, "0.75")->y < part_text(picture, "1.00")->y);
  chart.rows.clear();
  CHECK(error_from([&] { attn::plot::draw_stacked_bars(chart, {}, attn::PictureFormat::svg); }) ==
        "there are no bars to draw\n  help:  give at least one");
}

TEST_CASE("dots that stand out have their names, right of them") {
  attn::plot::DotMap map;
  map.rows = {"above", "below"};
  map.columns = {"left", "right"};
  map.dots = {{0, 0, 0.1, ""}, {0, 1, 0, ""}, {1, 0, 0.9, "1.0"}, {1, 1, 0.2, ""}};
  const attn::Picture picture = attn::plot::draw_dots(map, {}, attn::PictureFormat::svg);
  for (const char* text : {"1.0", "above", "below", "left", "right"}) {
    CAPTURE(text);
    REQUIRE(part_text(picture, text) != nullptr);
  }
  // Rows from above.
  CHECK(part_text(picture, "1.0")->y > part_text(picture, "above")->y);
  CHECK(part_text(picture, "1.0")->x < part_text(picture, "right")->x);
  CHECK(picture.description.ends_with("4 dots, of which 1.0 stand out."));
}
