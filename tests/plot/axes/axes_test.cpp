#include "plot/axes/axes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <doctest/doctest.h>

namespace {

using attn::FigureOptions;
using attn::PictureFormat;
using attn::PlotStyle;
using namespace attn::plot;

Axes example_axes() {
  Axes axes;
  axes.box = {100, 50, 300, 150};
  axes.x.ticks = {{0.25, "a"}, {0.75, "b"}};
  axes.y.ticks = {{0.5, "row"}};
  axes.x.label = "Keys";
  axes.y.label = "Queries";
  axes.title = "Title";
  return axes;
}

TEST_CASE("nothing written around a frame overlaps") {
  Typesetter typesetter(1, Lettering::outlines);
  const Axes axes = example_axes();
  const auto decorations = decorate(axes, typesetter);
  REQUIRE(decorations.texts.size() == 6);
  for (std::size_t i = 0; i < decorations.texts.size(); ++i) {
    CHECK_FALSE(overlap(decorations.texts[i].bounds, axes.box));
    for (std::size_t j = 0; j < i; ++j) {
      CHECK_FALSE(overlap(decorations.texts[i].bounds, decorations.texts[j].bounds));
    }
  }
}

TEST_CASE("the bounds hold everything written around a frame") {
  Typesetter typesetter(1, Lettering::outlines);
  for (const bool right : {false, true}) {
    Axes axes = example_axes();
    axes.y_on_right = right;
    axes.y.offset = "1e6";
    const auto decorations = decorate(axes, typesetter);
    for (const auto& text : decorations.texts) {
      const Box all = united(decorations.bounds, text.bounds);
      CHECK(all.left == decorations.bounds.left);
      CHECK(all.top == decorations.bounds.top);
      CHECK(all.right == decorations.bounds.right);
      CHECK(all.bottom == decorations.bounds.bottom);
    }
  }
}

TEST_CASE("brackets stand beyond the tick labels, with their names beyond them") {
  Typesetter typesetter(1, Lettering::outlines);
  Axes axes = example_axes();
  const auto plain = decorate(axes, typesetter);
  axes.x.brackets = {{"first part", 0, 0.5}, {"x", 0.5, 1}};
  axes.y.brackets = {{"rows", 0, 1}};
  const auto bracketed = decorate(axes, typesetter);
  REQUIRE(bracketed.texts.size() == plain.texts.size() + 3);
  CHECK(bracketed.bracket_lines.size() == 9);  // a line with two feet each
  CHECK(bracketed.bounds.bottom > plain.bounds.bottom);
  CHECK(bracketed.bounds.left < plain.bounds.left);
  for (std::size_t i = 0; i < bracketed.texts.size(); ++i) {
    CHECK_FALSE(overlap(bracketed.texts[i].bounds, axes.box));
    for (std::size_t j = 0; j < i; ++j)
      CHECK_FALSE(overlap(bracketed.texts[i].bounds, bracketed.texts[j].bounds));
  }
}

TEST_CASE("names of brackets are cut at their ends, or left out where hardly a letter has room") {
  Typesetter typesetter(1, Lettering::outlines);
  Axes axes = example_axes();
  axes.x.brackets = {{"a name that is much longer than its bracket", 0, 0.4}, {"abc", 0.4, 0.42}};
  const auto decorations = decorate(axes, typesetter);
  CHECK(decorations.texts.size() == decorate(example_axes(), typesetter).texts.size() + 1);
  const auto cut = std::ranges::find_if(decorations.texts, [](const PlacedText& text) {
    return text.text->string.starts_with("a name") && text.text->string.ends_with("\u2026");
  });
  REQUIRE(cut != decorations.texts.end());
  CHECK(cut->bounds.width() <= 0.4 * axes.box.width());
}

TEST_CASE("sentences have brackets only where not all names have room, given parts always") {
  FigureOptions options;
  Figure figure(options, PictureFormat::svg, {8, 6});
  attn::Heatmap map;
  for (int i = 0; i < 60; ++i)
    map.key_labels.push_back(i % 10 == 9 ? "." : i % 10 == 0 ? "The" : "a");
  map.query_labels = map.key_labels;
  const MapTicks ticks = map_ticks(map, 60, 60, options);
  const auto brackets = [&](const MapTicks& of, double length) {
    Axis axis;
    set_cell_ticks(axis, of.key, length, true, figure);
    return axis.brackets.size();
  };
  CHECK(brackets(ticks, 2000) == 0);
  CHECK(brackets(ticks, 200) == 6);
  map.key_spans = {{"prompt", 0, 30}, {"answer", 30, 60}};
  CHECK(brackets(map_ticks(map, 60, 60, options), 2000) == 2);
  options.brackets = false;
  CHECK(brackets(map_ticks(map, 60, 60, options), 200) == 0);
}

TEST_CASE("tick labels stand by their ticks, three and a half points beyond them") {
  Typesetter typesetter(1, Lettering::outlines);
  const auto decorations = decorate(example_axes(), typesetter);
  CHECK(decorations.texts[0].bounds.middle() == doctest::Approx(150));
  CHECK(decorations.texts[0].bounds.top == doctest::Approx(157));
}

TEST_CASE("the length of a label along the frame does not count in the layout") {
  Typesetter typesetter(1, Lettering::outlines);
  Axes axes = example_axes();
  axes.x.label = std::string(200, 'x');
  const auto standard = decorate(axes, typesetter);
  CHECK(standard.layout_bounds.right == doctest::Approx(300));
  CHECK(standard.bounds.right > 500);
  axes.style = attn::PlotStyle::matplotlib;
  CHECK(decorate(axes, typesetter).bounds.right == doctest::Approx(300));
}

TEST_CASE("a title gives way to an offset above the frame") {
  Typesetter typesetter(1, Lettering::outlines);
  Axes axes = example_axes();
  axes.title = std::string(30, 'T');
  const double before = decorate(axes, typesetter).bounds.top;
  axes.y.offset = "1e6";
  CHECK(decorate(axes, typesetter).bounds.top < before);
}

constexpr double length = 400;  // points

Axis axis_of(std::vector<std::string> labels, bool horizontal, PlotStyle style, attn::Ticks ticks) {
  FigureOptions options;
  options.style = style;
  Figure figure(options, PictureFormat::svg, {8, 6});
  Axis axis;
  set_cell_ticks(axis, {std::move(labels), ticks}, length, horizontal, figure);
  return axis;
}

std::vector<std::string> same(const std::string& label, std::size_t count) {
  return std::vector<std::string>(count, label);
}

// Whether no label reaches into the next one's place, seen across the labels.
bool apart(const Axis& axis, bool horizontal) {
  Typesetter typesetter(1, Lettering::outlines);
  const double turned = axis.tick_label_degrees * std::numbers::pi / 180;
  for (std::size_t i = 1; i < axis.ticks.size(); ++i) {
    const double distance = std::abs(axis.ticks[i].position - axis.ticks[i - 1].position) * length;
    const Text& text = typesetter.text(axis.ticks[i].label, axis.tick_label_size);
    if (horizontal && axis.tick_label_degrees == 0 && distance < text.width) return false;
    if (horizontal && axis.tick_label_degrees != 0 && distance * std::sin(turned) < text.height)
      return false;
    if (!horizontal && distance < text.height) return false;
  }
  return true;
}

TEST_CASE("labels that fit stand level under their cells") {
  const Axis axis =
      axis_of({"The", "cat", "sat"}, true, PlotStyle::standard, attn::Ticks::automatic);
  REQUIRE(axis.ticks.size() == 3);
  CHECK(axis.tick_label_degrees == 0);
  CHECK(axis.ticks[0].position == doctest::Approx(1.0 / 6));
  CHECK(axis.ticks[2].label == "sat");
}

TEST_CASE("rows are counted from the top") {
  const Axis axis = axis_of({"first", "last"}, false, PlotStyle::standard, attn::Ticks::automatic);
  CHECK(axis.ticks[0].position == doctest::Approx(0.75));
  CHECK(axis.ticks[1].position == doctest::Approx(0.25));
}

TEST_CASE("labels that would collide turn before they thin out") {
  const auto turned =
      axis_of(same("attention", 13), true, PlotStyle::standard, attn::Ticks::automatic);
  CHECK(turned.tick_label_degrees == 45);
  CHECK(turned.labels_end_at_tick);
  CHECK(turned.ticks.size() == 13);
  const auto upright =
      axis_of(same("attention", 28), true, PlotStyle::standard, attn::Ticks::automatic);
  CHECK(upright.tick_label_degrees == 90);
  CHECK(upright.ticks.size() == 28);
  const auto thinned =
      axis_of(same("attention", 60), true, PlotStyle::standard, attn::Ticks::automatic);
  CHECK(thinned.ticks.size() < 60);
}

TEST_CASE("labels never overlap in the standard style, however many there are") {
  for (const std::string label : {"K_1", "attention", "a", "internationalisation", "学习"}) {
    for (const std::size_t count : {1U, 2U, 5U, 13U, 20U, 33U, 48U, 64U, 300U, 5000U}) {
      for (const bool horizontal : {true, false}) {
        CAPTURE(label);
        CAPTURE(count);
        CAPTURE(horizontal);
        const Axis axis =
            axis_of(same(label, count), horizontal, PlotStyle::standard, attn::Ticks::automatic);
        CHECK_FALSE(axis.ticks.empty());
        CHECK(apart(axis, horizontal));
      }
    }
  }
}

// Whether two texts of an axis touch, seen along the turned lines.
bool overlapping(const std::vector<PlacedText>& texts) {
  for (std::size_t i = 1; i < texts.size(); ++i) {
    if (texts[i].degrees != 0 || texts[i - 1].degrees != 0) {
      // Parallel lines: the distance between them, across their direction.
      const double turned = texts[i].degrees * std::numbers::pi / 180;
      const double dx = texts[i].origin.x - texts[i - 1].origin.x;
      const double dy = texts[i].origin.y - texts[i - 1].origin.y;
      const double apart = std::abs(dx * std::sin(turned) + dy * std::cos(turned));
      if (apart < std::min(texts[i].text->height, texts[i - 1].text->height)) return true;
    } else if (overlap(texts[i].bounds, texts[i - 1].bounds)) {
      return true;
    }
  }
  return false;
}

TEST_CASE("no labels of an axis overlap from 1 to 256 tokens of several lengths") {
  for (const double scale : {0.5, 1.0, 2.0}) {
    FigureOptions options;
    options.font_scale = scale;
    Figure figure(options, PictureFormat::svg, {8, 6});
    for (const std::string token : {"a", "animal", "internationalisation", "学习"}) {
      for (std::size_t count = 1; count <= 256; ++count) {
        CAPTURE(scale);
        CAPTURE(token);
        CAPTURE(count);
        for (const bool horizontal : {true, false}) {
          Axes axes;
          axes.box = {100, 50, 100 + length, 50 + length};
          axes.x.drawn = horizontal;
          axes.y.drawn = !horizontal;
          set_cell_ticks(horizontal ? axes.x : axes.y, {same(token, count), attn::Ticks::automatic},
                         length, horizontal, figure);
          CHECK_FALSE(overlapping(decorate(axes, figure.typesetter()).texts));
        }
      }
    }
  }
}

TEST_CASE("all labels are shown if they are asked for") {
  for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
    for (const bool horizontal : {true, false}) {
      CHECK(axis_of(same("K_1", 100), horizontal, style, attn::Ticks::all).ticks.size() == 100);
    }
  }
}

TEST_CASE("the matplotlib style leaves labels level") {
  const auto axis =
      axis_of(same("attention", 13), true, PlotStyle::matplotlib, attn::Ticks::automatic);
  CHECK(axis.tick_label_degrees == 0);
  CHECK_FALSE(axis.labels_end_at_tick);
  CHECK(axis.ticks.size() == 7);  // every second one: there is no room for all
}

TEST_CASE("names of all cells stay in the matplotlib style where they run together a little") {
  const std::vector<std::string> words{"The",     "animal", "did", "not", "cross", "the", "street",
                                       "because", "it",     "was", "too", "tired", "."};
  const auto names = [&](PlotStyle style, bool horizontal) {
    return axis_of(words, horizontal, style, attn::Ticks::automatic).ticks.size();
  };
  CHECK(names(PlotStyle::matplotlib, true) == words.size());
  CHECK(names(PlotStyle::matplotlib, false) == words.size());
}

TEST_CASE("an axis that counts names its few special tokens, and no number too near to them") {
  std::vector<std::string> words(200, "word");
  words.front() = "[CLS]";
  words[100] = words.back() = "[SEP]";
  for (const bool horizontal : {true, false}) {
    const auto axis = axis_of(words, horizontal, PlotStyle::standard, attn::Ticks::automatic);
    CHECK(apart(axis, horizontal));
    std::vector<std::string> names;
    for (const Tick& tick : axis.ticks) names.push_back(tick.label);
    CHECK(std::ranges::count(names, "[SEP]") == 2);
    CHECK(std::ranges::count(names, "[CLS]") == 1);
    CHECK(std::ranges::count(names, "0") == 0);
    CHECK(std::ranges::count(names, "100") == 0);
    CHECK(std::ranges::count(names, "50") == 1);
  }
  words.assign(200, "[PAD]");
  CHECK(axis_of(words, true, PlotStyle::standard, attn::Ticks::automatic).ticks[0].label == "0");
}

TEST_CASE("numbers as names of cells stand level and apart, at multiples of a round step") {
  std::vector<std::string> distances;
  for (int i = -23; i < 24; ++i)
    distances.push_back((i < 0 ? "\u2212" : "") + std::to_string(std::abs(i)));
  const auto axis = axis_of(distances, true, PlotStyle::standard, attn::Ticks::automatic);
  CHECK(axis.tick_label_degrees == 0);
  CHECK(apart(axis, true));
  REQUIRE(axis.ticks.size() == 9);
  CHECK(axis.ticks[0].label == "\u221220");
  CHECK(axis.ticks[4].label == "0");
  CHECK(axis.ticks[8].label == "20");
  CHECK(axis_of({"1", "2", "3"}, true, PlotStyle::standard, attn::Ticks::automatic).ticks.size() ==
        3);
}

TEST_CASE("names that number themselves thin out at round numbers, and keep their letters") {
  std::vector<std::string> residues;
  for (int i = 1; i <= 200; ++i) {
    residues.push_back(std::string(1, "KVEIT"[i % 5]) + std::to_string(i));
  }
  for (const bool horizontal : {true, false}) {
    const auto axis = axis_of(residues, horizontal, PlotStyle::standard, attn::Ticks::automatic);
    CHECK(apart(axis, horizontal));
    REQUIRE(axis.ticks.size() > 2);
    for (const Tick& tick : axis.ticks) {
      CAPTURE(tick.label);
      CHECK(std::ranges::count(residues, tick.label) == 1);
      CHECK(tick.label.ends_with('0'));
    }
  }
  residues[100] = "K7";
  CHECK(axis_of(residues, true, PlotStyle::standard, attn::Ticks::automatic).ticks[0].label == "0");
}

TEST_CASE("names that number themselves have one step along both axes") {
  Figure figure(FigureOptions{}, PictureFormat::svg, {8, 6});
  MapTicks names;
  for (int i = 1; i <= 120; ++i) names.query.labels.push_back("K" + std::to_string(i));
  names.key.labels = names.query.labels;
  Axes axes;
  axes.box = {0, 0, 300, 300};
  set_cell_ticks(axes, names, figure);
  REQUIRE(axes.x.ticks.size() > 2);
  REQUIRE(axes.x.ticks.size() == axes.y.ticks.size());
  for (std::size_t n = 0; n < axes.x.ticks.size(); ++n) {
    CHECK(axes.x.ticks[n].label == axes.y.ticks[n].label);
  }
}

TEST_CASE("many positions along an axis that is given a name are numbers, few have their letter") {
  attn::Heatmap map;
  FigureOptions options;
  options.xlabel = "Frame";
  CHECK(map_ticks(map, 4, 30, options).key.ticks == attn::Ticks::index);
  CHECK(map_ticks(map, 4, 30, options).query.ticks == attn::Ticks::automatic);
  CHECK(map_ticks(map, 4, 4, options).key.ticks == attn::Ticks::automatic);
  CHECK(map_ticks(map, 4, 30, FigureOptions()).key.ticks == attn::Ticks::automatic);
}

TEST_CASE("parts of a text that the program names are words") {
  CHECK(shown_part("first_token") == "first token");
  CHECK(shown_part("my_part") == "my_part");
}

TEST_CASE("index ticks count from 0 and stand between cells in the matplotlib style only") {
  const auto matplotlib = axis_of(same("", 3), true, PlotStyle::matplotlib, attn::Ticks::index);
  REQUIRE(matplotlib.ticks.size() == 7);
  CHECK(matplotlib.ticks[0].label == "\u22120.5");
  const auto standard = axis_of(same("", 3), true, PlotStyle::standard, attn::Ticks::index);
  REQUIRE(standard.ticks.size() == 3);
  CHECK(standard.ticks[0].label == "0");
  CHECK(standard.ticks[0].position == doctest::Approx(1.0 / 6));
  const auto many = axis_of(same("", 48), false, PlotStyle::matplotlib, attn::Ticks::index);
  REQUIRE(many.ticks.size() == 5);
  CHECK(many.ticks[1].label == "10");
  CHECK(many.ticks[1].position == doctest::Approx(1 - 10.5 / 48));
}

TEST_CASE("indices of a short axis are two at least where there is room for them") {
  Figure figure({}, PictureFormat::svg, {8, 6});
  const auto ticks_of = [&](std::size_t cells, double points) {
    Axis axis;
    set_cell_ticks(axis, {same("", cells), attn::Ticks::index}, points, true, figure);
    std::vector<std::string> labels;
    for (const Tick& tick : axis.ticks) labels.push_back(tick.label);
    return labels;
  };
  CHECK(ticks_of(11, 50) == std::vector<std::string>{"0", "10"});
  CHECK(ticks_of(11, 12) == std::vector<std::string>{"0"});
}

TEST_CASE("a token longer than a quarter of the figure is shortened") {
  const auto axis =
      axis_of({std::string(500, 'w'), "a"}, false, PlotStyle::standard, attn::Ticks::automatic);
  Typesetter typesetter(1, Lettering::outlines);
  CHECK(typesetter.text(axis.ticks[0].label, 10).width <= 8 * 72 / 4.0);
  CHECK(axis.ticks[0].label.find("…") != std::string::npos);
}

TEST_CASE("labels are numbered where none are given") {
  CHECK(labels_or({}, "K_", 2, 0, 1) == std::vector<std::string>{"K_1", "K_2"});
  CHECK(labels_or({}, "K_", 2, 7, 1) == std::vector<std::string>{"K_8", "K_9"});
  CHECK(labels_or({}, "K_", 2, 7, 0) == std::vector<std::string>{"7", "8"});
  CHECK(labels_or({"a"}, "K_", 1, 0, 1) == std::vector<std::string>{"a"});
}

}  // namespace
