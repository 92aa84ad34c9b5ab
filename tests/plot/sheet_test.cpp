#include "plot/sheet.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "plot/parts.hpp"

namespace {

using attn::plot::Interval;
using attn::plot::Panel;

// A panel with a map of these numbers, whose title is `name`.
attn::plot::SheetPanel map_panel(const std::string& letter, const std::string& name,
                                 std::vector<double> numbers, double share = 1) {
  return {
      letter, share,
      [name, numbers = std::move(numbers)](Panel& panel, const std::optional<Interval>& colours) {
        attn::Heatmap map;
        map.weights = attn::Tensor({2, 2}, numbers);
        map.any_numbers = true;
        attn::HeatmapOptions options;
        options.figure.title = name;
        options.figure.panel = &panel;
        if (colours) {
          options.colors.range = {attn::ColorRange::Scope::given, colours->low, colours->high};
        }
        return attn::draw_heatmap(map, options, attn::PictureFormat::svg);
      }};
}

const attn::PictureText* text_on(const attn::Picture& picture, const std::string& text) {
  for (const attn::PictureText& one : picture.texts) {
    if (one.text == text) return &one;
  }
  return nullptr;
}

attn::FigureOptions wide(double inches, double height = 0) {
  attn::FigureOptions options;
  options.figsize = {inches, height};
  return options;
}

}  // namespace

TEST_CASE("panels of a row stand side by side by their shares, rows below one another") {
  attn::plot::Sheet sheet;
  sheet.rows = {{map_panel("a", "first", {0, 1, 2, 3}, 3), map_panel("b", "second", {0, 1, 2, 3})},
                {map_panel("c", "third", {0, 1, 2, 3})}};
  const attn::Picture picture = draw_sheet(sheet, wide(6), attn::PictureFormat::svg);
  for (const char* letter : {"a", "b", "c"}) REQUIRE(text_on(picture, letter) != nullptr);
  CHECK(text_on(picture, "a")->y == text_on(picture, "b")->y);
  CHECK(text_on(picture, "a")->x == text_on(picture, "c")->x);
  CHECK(text_on(picture, "c")->y > text_on(picture, "first")->y);
  // Three quarters of 6 inches less margins, and the gap between panels.
  CHECK(text_on(picture, "b")->x - text_on(picture, "a")->x ==
        doctest::Approx((0.75 * (6 - 0.12 - 0.16) + 0.16) * 72).epsilon(0.001));
  CHECK(std::stod(picture.bytes.substr(picture.bytes.find("width=\"") + 7)) ==
        doctest::Approx(432));
}

TEST_CASE("letters of all panels have one size, the smallest that one of them needs") {
  attn::plot::Sheet sheet;
  sheet.rows = {{map_panel("a", "left", {0, 1, 2, 3}, 4), map_panel("b", "right", {0, 1, 2, 3})}};
  const attn::Picture picture = draw_sheet(sheet, wide(5), attn::PictureFormat::svg);
  const auto height = [&](const char* name) {
    return text_on(picture, name)->bottom - text_on(picture, name)->top;
  };
  REQUIRE(text_on(picture, "left") != nullptr);
  REQUIRE(text_on(picture, "right") != nullptr);
  const auto size_before = [&](const std::string& text) {
    const std::size_t end = picture.bytes.find(">" + text + "<");
    const std::size_t at = picture.bytes.rfind("font-size=\"", end);
    return picture.bytes.substr(at, picture.bytes.find('"', at + 11) - at);
  };
  CHECK(size_before("left") == size_before("right"));
  CHECK(height("left") > 0);
}

TEST_CASE("maps of as many cells in panels as wide are of one size, whatever their bars need") {
  const auto drawn = [](bool equal, double share) {
    attn::plot::Sheet sheet;
    sheet.equal_maps = equal;
    sheet.rows = {{map_panel("a", "short", {0, 1, 2, 3}, share),
                   map_panel("b", "long", {0, 1000.25, 2000.5, 30000})}};
    return draw_sheet(sheet, wide(6), attn::PictureFormat::svg).frames;
  };
  const auto width = [](const attn::PictureFrame& frame) { return frame.right - frame.left; };
  // Each panel has the frames of its map and of its bar.
  const auto apart = drawn(false, 1), equal = drawn(true, 1);
  REQUIRE(apart.size() == 4);
  REQUIRE(equal.size() == 4);
  CHECK(width(apart[0]) > width(apart[2]) + 1);
  CHECK(width(equal[0]) == doctest::Approx(width(equal[2])));
  CHECK(width(equal[2]) == doctest::Approx(width(apart[2])));
  CHECK(equal[0].top == doctest::Approx(equal[2].top));
  CHECK(equal[0].bottom == doctest::Approx(equal[2].bottom));
  const auto shared_out = drawn(true, 3);
  REQUIRE(shared_out.size() == 4);
  CHECK(width(shared_out[0]) > 2 * width(shared_out[2]));
}

TEST_CASE("panels of one scale may share one bar and one key right of all") {
  attn::plot::Sheet sheet;
  sheet.one_scale = sheet.shared_bar = sheet.equal_maps = true;
  sheet.rows = {{map_panel("a", "first", {0, 1, 2, 3}),
                 map_panel("b", "second", {0, 1, 2, std::numeric_limits<double>::quiet_NaN()})},
                {map_panel("c", "third", {1, 1, 2, 2}), map_panel("d", "fourth", {0, 5, 2, 8})}};
  const attn::Picture picture = draw_sheet(sheet, wide(6), attn::PictureFormat::svg);
  const std::vector<attn::PictureFrame>& frames = picture.frames;
  // Four maps and the bar.
  REQUIRE(frames.size() == 5);
  const attn::PictureFrame& bar = frames[4];
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(frames[i].right < bar.left);
    CHECK(frames[i].right - frames[i].left == doctest::Approx(frames[0].right - frames[0].left));
  }
  CHECK(bar.top > frames[0].top);
  CHECK(bar.bottom < frames[2].bottom);
  const auto count = [&](const std::string& text) {
    return std::ranges::count(picture.texts, text, &attn::PictureText::text);
  };
  CHECK(count("Value") == 1);
  // One is written in its cell, the other beside its colour.
  CHECK(count("NaN") == 2);
  CHECK(std::ranges::any_of(picture.texts, [&](const attn::PictureText& text) {
    return text.text == "NaN" && text.x > bar.left && text.y > bar.bottom;
  }));
  for (const attn::PictureText& text : picture.texts) {
    if (text.degrees == 0) CHECK(text.x + text.right < 6 * 72);
  }
}

TEST_CASE("the strongest cells are named in all heatmaps of a sheet or in none") {
  constexpr std::size_t tokens = 30;
  // A map whose first weight is well above the others, or as large.
  const auto panel = [](const std::string& letter, double first) {
    return attn::plot::SheetPanel{letter, 1, [first](Panel& place, const std::optional<Interval>&) {
                                    std::vector<double> weights(tokens * tokens, 0.01);
                                    weights[tokens / 2] = first;
                                    attn::Heatmap map;
                                    map.weights = attn::Tensor({tokens, tokens}, weights);
                                    for (std::size_t i = 0; i < tokens; ++i)
                                      map.key_labels.push_back("w" + std::to_string(i));
                                    map.query_labels = map.key_labels;
                                    attn::HeatmapOptions options;
                                    options.figure.panel = &place;
                                    return attn::draw_heatmap(map, options,
                                                              attn::PictureFormat::svg);
                                  }};
  };
  const auto named = [&](double second) {
    attn::plot::Sheet sheet;
    sheet.rows = {{panel("a", 0.6), panel("b", second)}};
    return std::ranges::count_if(
        draw_sheet(sheet, wide(10), attn::PictureFormat::svg).texts,
        [](const attn::PictureText& text) { return text.text.find("→") != std::string::npos; });
  };
  CHECK(named(0.7) == 2);
  CHECK(named(0.01) == 0);
}

TEST_CASE("a figure that is asked for a width alone is exactly as wide, and as high as its map") {
  attn::Heatmap map;
  map.weights = attn::Tensor({2, 8}, std::vector<double>(16, 0.125));
  attn::HeatmapOptions options;
  options.figure = wide(3.25);
  options.figure.exact_size = true;
  const std::string flat = attn::draw_heatmap(map, options, attn::PictureFormat::svg).bytes;
  map.weights = attn::Tensor({8, 8}, std::vector<double>(64, 0.125));
  const std::string square = attn::draw_heatmap(map, options, attn::PictureFormat::svg).bytes;
  const auto side = [](const std::string& svg, const std::string& name) {
    const std::size_t at = svg.find(name + "=\"") + name.size() + 2;
    return std::stod(svg.substr(at));
  };
  CHECK(side(flat, "width") == doctest::Approx(3.25 * 72));
  CHECK(side(square, "width") == doctest::Approx(3.25 * 72));
  CHECK(side(flat, "height") < 0.6 * side(square, "height"));
}

TEST_CASE("panels too narrow for anything are refused") {
  attn::plot::Sheet sheet;
  for (int i = 0; i < 20; ++i)
    sheet.rows.resize(1), sheet.rows[0].push_back(map_panel("", "m", {0, 1, 2, 3}));
  CHECK(error_from([&] { draw_sheet(sheet, wide(3), attn::PictureFormat::svg); },
                   attn::ErrorKind::usage) ==
        "a panel would be 0 mm wide\n  where: FigureOptions::figsize\n"
        "  help:  ask for a wider figure, or put fewer panels into a row");
}
