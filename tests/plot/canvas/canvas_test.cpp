#include "plot/canvas/canvas.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "plot/decoded_picture.hpp"

namespace {

using namespace attn;
using namespace attn::plot;

constexpr double width = 2100, height = 1500;  // pixels; some bands

std::string picture_of(const std::function<void(Canvas&)>& draw, const Box& crop,
                       std::size_t threads = 1) {
  Canvas canvas(PictureFormat::png, {crop.left, crop.bottom}, crop.width(), crop.height(), 300, {},
                Letters::outlines);
  canvas.draw(draw, threads);
  return canvas.finish();
}

// Distance of the pixels of the whole from those of parts that are drawn alone, each of which is
// small enough to be drawn at once.
int largest_difference(const std::function<void(Canvas&)>& draw) {
  const auto whole = test::decode_png(picture_of(draw, {0, 0, width, height}));
  REQUIRE(whole.width == static_cast<std::size_t>(width));
  REQUIRE(whole.height == static_cast<std::size_t>(height));
  constexpr std::size_t side = 500;
  int largest = 0;
  for (std::size_t top = 0; top < whole.height; top += side) {
    for (std::size_t left = 0; left < whole.width; left += side) {
      const std::size_t right = std::min(left + side, whole.width);
      const std::size_t bottom = std::min(top + side, whole.height);
      const auto part = test::decode_png(
          picture_of(draw, {static_cast<double>(left), static_cast<double>(top),
                            static_cast<double>(right), static_cast<double>(bottom)}));
      for (std::size_t y = top; y < bottom; ++y) {
        for (std::size_t x = left; x < right; ++x) {
          for (std::size_t channel = 0; channel < 3; ++channel) {
            largest = std::max(
                largest, std::abs(whole.at(x, y)[channel] - part.at(x - left, y - top)[channel]));
          }
        }
      }
    }
  }
  return largest;
}

Colour colour_of(std::size_t i) {
  return {static_cast<std::uint8_t>(i * 53 % 200), static_cast<std::uint8_t>(i * 91 % 200),
          static_cast<std::uint8_t>(i * 37 % 200)};
}

TEST_CASE("boxes, frames, ticks and triangles on several bands are those of small pictures") {
  CHECK(largest_difference([](Canvas& canvas) {
          for (std::size_t i = 0; i < 60; ++i) {
            const double x = static_cast<double>(i * 331 % 2000), y = static_cast<double>(i * 25);
            canvas.fill({x, y, x + 90.3, y + 400.6}, colour_of(i));
            canvas.stroke({x + 7, y - 80, x + 190, y + 61.5}, black, 3);
            canvas.frame({x - 40, y, x, y + 33}, colour_of(i + 1), 2);
            canvas.ticks({{{x, y}, 0, 300}, {{x, y}, 500, 0}, {{x, y + 20}, -30, 0}}, black, 2.5);
          }
        }) == 0);
}

// The places of a small picture are other numbers, from its own corner on, so that a share of a
// pixel may round to the next of 255.
TEST_CASE(
    "lines in all directions, whole and dashed, on several bands are those of small pictures") {
  CHECK(
      largest_difference([](Canvas& canvas) {
        const std::vector<double> dashes{40, 13};
        for (std::size_t i = 0; i < 80; ++i) {
          const Point from{static_cast<double>(i * 577 % 2100), static_cast<double>(i * 19)};
          const Point to{static_cast<double>(i * 211 % 2100), static_cast<double>(i * 467 % 1500)};
          const double thick = 0.4 + static_cast<double>(i % 17);
          canvas.line(from, to, {colour_of(i), 0.7, thick});
          canvas.line(to, {from.x, from.y + 400}, {colour_of(i), 0.5, thick, dashes});
        }
        canvas.line({0, 700}, {2100, 700}, {black, 1, 9});
        canvas.line({900, -20}, {900, 1600}, {black, 1, 9});
      }) <= 1);
}

TEST_CASE("pixels that are copied on several bands are those of small pictures") {
  const Box box{33.2, 41.7, 2013.4, 1466.1};
  CHECK(largest_difference([&](Canvas& canvas) {
          const auto area = canvas.pixel_area(box);
          const auto shown = canvas.rows_on_band(area, box);
          PixelRows rows;
          for (int y = 0; y < shown.height; ++y) {
            const auto row = static_cast<std::size_t>(shown.top - area.top + y);
            rows.line_of_row.push_back(static_cast<std::size_t>(y));
            for (std::size_t x = 0; x < static_cast<std::size_t>(area.width); ++x) {
              rows.lines.push_back(static_cast<std::uint32_t>(row / 7 * 77777 + x / 5 * 999) &
                                   0xFFFFFFU);
            }
          }
          canvas.copy(rows, shown, box);
        }) == 0);
}

// Cairo takes the coverage of a row of pixels from 15 lines through it or exactly, depending on
// what else begins on the surface, so that slanted edges may differ by what one line counts: 255
// / 15.
TEST_CASE("hatches, curves and triangles on several bands are nearly those of small pictures") {
  constexpr int of_cairo = 17;
  CHECK(
      largest_difference([](Canvas& canvas) {
        using Hatch = Canvas::Hatch;
        double left = 30;
        for (const Hatch hatch : {Hatch::rising, Hatch::falling, Hatch::upright, Hatch::level,
                                  Hatch::squared, Hatch::dotted}) {
          canvas.hatch({{left, 20, left + 200, 700}, {left, 720, left + 200, 1480}}, black, 3, 21,
                       hatch);
          left += 220;
        }
        std::vector<Point> points;
        for (std::size_t i = 0; i < 200; ++i) {
          points.push_back({1400 + static_cast<double>(i * 83 % 600), static_cast<double>(i) * 7});
        }
        canvas.curve(points, {colour_of(3), 0.8, 5});
        canvas.triangle({1300, 10}, {2090, 700}, {1500, 1490}, colour_of(4));
      }) <= of_cairo);
}

TEST_CASE("what a canvas tells of its frames is told once, however many bands there are") {
  Canvas canvas(PictureFormat::png, {0, height}, width, height, 300, {}, Letters::outlines);
  int calls = 0;
  canvas.draw(
      [&](Canvas& same) {
        ++calls;
        same.frame({10, 20, 1000, 1400}, black, 3);
      },
      1);
  CHECK(calls > 3);
  REQUIRE(canvas.frames().size() == 1);
  CHECK(canvas.frames()[0].top == 20);
  CHECK(canvas.frames()[0].bottom == 1400);
}

TEST_CASE("a small picture and one without ground are drawn at once") {
  Paper clear;
  clear.clear = true;
  Canvas small(PictureFormat::png, {0, 700}, 900, 700, 300, {}, Letters::outlines);
  Canvas without_ground(PictureFormat::png, {0, height}, width, height, 300, clear,
                        Letters::outlines);
  for (Canvas* canvas : {&small, &without_ground}) {
    int calls = 0;
    canvas->draw([&](Canvas&) { ++calls; }, 1);
    CHECK(calls == 1);
    CHECK(canvas->finish().size() > 100);
  }
}

TEST_CASE("any number of threads draws the same file") {
  const auto draw = [](Canvas& canvas) {
    for (std::size_t i = 0; i < 40; ++i) {
      canvas.fill({static_cast<double>(i) * 50, 0, static_cast<double>(i) * 50 + 31, 1500},
                  colour_of(i));
      canvas.line({0, static_cast<double>(i) * 40}, {2100, static_cast<double>(i) * 31},
                  {black, 0.5, 4});
    }
  };
  const Box all{0, 0, width, height};
  const std::string one = picture_of(draw, all, 1);
  for (const std::size_t threads : {0U, 2U, 5U}) {
    CHECK((picture_of(draw, all, threads) == one));
  }
}

TEST_CASE("an error while a band is drawn ends the picture, whichever thread writes the last one") {
  for (const std::size_t threads : {1U, 4U}) {
    int calls = 0;
    const auto fail = [&](Canvas&) {
      if (++calls == 3) throw std::runtime_error("the third band");
    };
    CHECK_THROWS_WITH_AS(picture_of(fail, {0, 0, width, height}, threads), "the third band",
                         std::runtime_error);
    CHECK(calls == 3);
  }
}

}  // namespace
