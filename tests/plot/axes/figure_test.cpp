#include "plot/axes/figure.hpp"

#include <string>

#include <doctest/doctest.h>

#include "plot/axes/arrangement.hpp"

namespace {

using namespace attn::plot;

TEST_CASE("places of a grid are of one size, a fifth of it apart, and fill the area") {
  const Box area = {10, 20, 110, 80};
  const auto places = subplot_places(area, 2, 3);
  REQUIRE(places.size() == 6);
  CHECK(places[0].left == doctest::Approx(10));
  CHECK(places[0].top == doctest::Approx(20));
  CHECK(places[5].right == doctest::Approx(110));
  CHECK(places[5].bottom == doctest::Approx(80));
  for (const Box& place : places) {
    CHECK(place.width() == doctest::Approx(places[0].width()));
    CHECK(place.height() == doctest::Approx(places[0].height()));
  }
  CHECK(places[1].left - places[0].right == doctest::Approx(0.2 * places[0].width()));
  CHECK(places[3].top - places[0].bottom == doctest::Approx(0.2 * places[0].height()));
}

TEST_CASE("places keep the distance asked for unless they would vanish") {
  const Box area = {0, 0, 300, 100};
  const auto apart = subplot_places(area, 2, 3, {40, 0});
  CHECK(apart[1].left - apart[0].right == doctest::Approx(40));
  CHECK(apart[2].right == doctest::Approx(300));
  CHECK(apart[3].top - apart[0].bottom == doctest::Approx(0.2 * apart[0].height()));
  const auto too_far = subplot_places(area, 2, 3, {140, 0});
  CHECK(too_far[1].left - too_far[0].right == doctest::Approx(0.2 * too_far[0].width()));
}

TEST_CASE("a tight area leaves the texts the room they took, and a margin") {
  const Box area = {100, 100, 700, 500}, decorated = {60, 70, 690, 560};
  const Box tight = tight_subplot_area(area, decorated, 800, 600, 15);
  CHECK(tight.left == doctest::Approx(55));
  CHECK(tight.top == doctest::Approx(45));
  CHECK(tight.right == doctest::Approx(785));
  CHECK(tight.bottom == doctest::Approx(525));
}

TEST_CASE("texts that leave no room leave the area as it is") {
  const Box area = {100, 100, 700, 500};
  const Box tight = tight_subplot_area(area, {-900, 100, 700, 500}, 800, 600, 15);
  CHECK(tight.left == area.left);
  CHECK(tight.right == area.right);
}

TEST_CASE("a colour bar takes the right fifth with a gap") {
  const auto split = split_for_colour_bar({0, 0, 100, 50});
  CHECK(split.axes.right == doctest::Approx(80));
  CHECK(split.colour_bar.left == doctest::Approx(85));
  CHECK(split.colour_bar.right == doctest::Approx(100));
}

TEST_CASE("an aspect is kept within a place that is too wide and one that is too high") {
  const Box wide = with_aspect({0, 0, 100, 20}, 2, 1);
  CHECK(wide.height() == doctest::Approx(20));
  CHECK(wide.width() == doctest::Approx(10));
  CHECK(wide.right == doctest::Approx(100));
  const Box high = with_aspect({0, 0, 10, 100}, 2, 0);
  CHECK(high.width() == doctest::Approx(10));
  CHECK(high.height() == doctest::Approx(20));
  CHECK(high.top == doctest::Approx(40));
}

}  // namespace

TEST_CASE("own titles are sentences where that is wished, but for names and quotes") {
  attn::FigureOptions options;
  const std::string title = "What \"The Cat\" Looks At (Sample 1, Key/Value Head 0) by [CLS], GPT";
  CHECK(attn::plot::own_words(options, title) == title);
  options.sentence_case = true;
  CHECK(attn::plot::own_words(options, title) ==
        "What \"The Cat\" looks at (sample 1, key/value head 0) by [CLS], GPT");
}

TEST_CASE("of several families the first that is installed is taken, or else the usual one") {
  attn::FigureOptions options;
  const auto family = [&](const std::string& font) {
    options.font = font;
    return attn::plot::Figure(options, attn::PictureFormat::svg, {4, 3}).family();
  };
  CHECK(family("No Such Family,DejaVu Serif") == "DejaVu Serif");
  CHECK(family("No Such Family, Nor This") == "DejaVu Sans");
}
