#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "attn/plot.hpp"

#include "error_from.hpp"
#include "plot/decoded_picture.hpp"

namespace {

using namespace attn;

std::string error_of(const DimensionChart& chart) {
  return error_from([&] { draw_dimensions(chart, {}, PictureFormat::png); });
}

FigureOptions small(PlotStyle style) {
  FigureOptions options;
  options.style = style;
  options.dpi = 50;
  return options;
}

// The share of a picture's pixels that have a colour.
double share_of(const Picture& picture, int red, int green, int blue) {
  const auto decoded = test::decode_png(picture.bytes);
  std::size_t count = 0;
  for (std::size_t i = 0; i < decoded.rgb.size(); i += 3) {
    count += decoded.rgb[i] == red && decoded.rgb[i + 1] == green && decoded.rgb[i + 2] == blue;
  }
  return static_cast<double>(count) / static_cast<double>(decoded.width * decoded.height);
}

TEST_CASE(
    "bars are as high as their sizes, lengths sky blue, widths light green, the output orange") {
  const DimensionChart chart = {{2, 4}, {2, 4}, {2, 4}, {2, 4}};
  for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
    const auto picture = draw_dimensions(chart, small(style), PictureFormat::png);
    const double blue = share_of(picture, 135, 206, 235);
    const double green = share_of(picture, 144, 238, 144);
    const double orange = share_of(picture, 255, 165, 0);
    CHECK(green / blue == doctest::Approx(2).epsilon(0.03));
    CHECK(orange / blue == doctest::Approx(1).epsilon(0.03));
  }
}

TEST_CASE("sizes have whole ticks, and boxes say how many samples and heads there are") {
  const auto has = [](const Picture& picture, const std::string& part) {
    return std::any_of(picture.texts.begin(), picture.texts.end(), [&](const PictureText& line) {
      return line.text.find(part) != std::string::npos;
    });
  };
  const DimensionChart chart = {{8, 10}, {8, 10}, {8, 10}, {8, 10}, {2, 4, 8, 8}};
  const FigureOptions options = small(PlotStyle::standard);
  const Picture bars = draw_dimensions(chart, options, PictureFormat::png);
  CHECK_FALSE(has(bars, ".5"));
  CHECK(has(bars, "10"));
  CHECK(has(draw_shapes(chart, options, PictureFormat::png), "2 samples, 4 heads"));
}

TEST_CASE("absent tensors have no bars") {
  const auto picture =
      draw_dimensions({{3, 4}, {}, {}, {}}, small(PlotStyle::standard), PictureFormat::png);
  CHECK(share_of(picture, 255, 165, 0) == 0);
  CHECK(share_of(picture, 135, 206, 235) > 0.1);
}

TEST_CASE("sizes from zero to billions can be drawn in every format") {
  for (const std::size_t size : {0U, 1U, 7U, 512U, 2048U, 3'000'000'000U}) {
    for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
      for (const auto format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
        const Shape shape = {1, size};
        CHECK_FALSE(
            draw_dimensions({shape, shape, shape, shape}, small(style), format).bytes.empty());
      }
    }
  }
}

TEST_CASE("a chart of no shapes is refused") {
  CHECK(error_of({}) ==
        "there are no shapes to draw\n"
        "  help:  give the shape of at least one tensor");
}

TEST_CASE("a shape of one axis has a length and no width") {
  const attn::Picture alone =
      attn::draw_dimensions({{3}, {5}, {}, {}}, {}, attn::PictureFormat::svg);
  const attn::Picture both =
      attn::draw_dimensions({{3, 4}, {5, 4}, {}, {}}, {}, attn::PictureFormat::svg);
  CHECK(alone.bytes != both.bytes);
  CHECK(alone.warnings.empty());
}

}  // namespace
