#include "plot/axes/axes.hpp"

#include <doctest/doctest.h>

namespace {

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

}  // namespace
