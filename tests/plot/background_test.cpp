#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "attn/memory.hpp"
#include "attn/plot.hpp"

#include "plot/decoded_picture.hpp"
#include "plot/example_figures.hpp"
#include "plot/pdf_text.hpp"

namespace {

using namespace attn;

Heatmap heatmap_of(std::size_t size) {
  Heatmap heatmap;
  heatmap.weights = test::example_weights(size, size);
  heatmap.allowed = test::causal(size);
  heatmap.title = "Tom & \"Jerry\" <3\n(Sample 1)";
  return heatmap;
}

PlotOptions options_of(Background background) {
  PlotOptions options;
  options.figure.dpi = 60;
  options.figure.background = background;
  return options;
}

std::string svg_of(const Heatmap& heatmap, const PlotOptions& options = {}) {
  return draw_heatmap(heatmap, options.heatmap(), PictureFormat::svg).bytes;
}

// Whether PNG bytes have an alpha channel: the type of their colours in the header.
bool has_alpha(const std::string& png) {
  constexpr std::size_t colour_type = 25;
  constexpr char rgba = 6;
  return png[colour_type] == rgba;
}

TEST_CASE("a dark background is dark up to the edges, and a transparent one has no colour") {
  const Heatmap heatmap = heatmap_of(5);
  const std::string dark =
      draw_heatmap(heatmap, options_of(Background::dark).heatmap(), PictureFormat::png).bytes;
  const auto decoded = test::decode_png(dark);
  CHECK(decoded.at(0, 0)[0] == 28);
  CHECK(decoded.at(decoded.width - 1, decoded.height - 1)[2] == 30);
  CHECK_FALSE(has_alpha(dark));
  const std::string clear =
      draw_heatmap(heatmap, options_of(Background::transparent).heatmap(), PictureFormat::png)
          .bytes;
  CHECK(has_alpha(clear));
  CHECK_FALSE(has_alpha(
      draw_heatmap(heatmap, options_of(Background::white).heatmap(), PictureFormat::png).bytes));
}

// Blocks that were freed hold what was drawn, and are taken again for the next picture.
TEST_CASE("nothing shines through a transparent picture of those that were drawn before") {
  PlotOptions clear = options_of(Background::transparent);
  clear.figure.dpi = 300;  // large enough to be kept
  const Heatmap heatmap = heatmap_of(5), other = heatmap_of(9);
  const std::string alone = draw_heatmap(heatmap, clear.heatmap(), PictureFormat::png).bytes;
  keep_freed_tensors(std::size_t{1} << 28U);
  for (int i = 0; i < 3; ++i) {
    draw_heatmap(other, clear.heatmap(), PictureFormat::png);
    CHECK((draw_heatmap(heatmap, clear.heatmap(), PictureFormat::png).bytes == alone));
  }
  keep_freed_tensors(0);
}

TEST_CASE("the matplotlib style stands on white whatever is asked for") {
  PlotOptions dark = options_of(Background::dark), white = options_of(Background::white);
  dark.figure.style = white.figure.style = PlotStyle::matplotlib;
  const Heatmap heatmap = heatmap_of(5);
  CHECK(draw_heatmap(heatmap, dark.heatmap(), PictureFormat::png).bytes ==
        draw_heatmap(heatmap, white.heatmap(), PictureFormat::png).bytes);
}

TEST_CASE("an SVG file says what it shows, in words that XML can hold") {
  const std::string svg = svg_of(heatmap_of(3));
  CHECK(svg.find("<title>Tom &amp; &quot;Jerry&quot; &lt;3 (Sample 1)</title>") != svg.npos);
  CHECK(svg.find("<desc>Heatmap of 3 queries × 3 keys. Values from ") != svg.npos);
  CHECK(svg.find("Marked separately: hidden.</desc>") != svg.npos);
  CHECK(draw_heatmap(heatmap_of(3), {}, PictureFormat::pdf).description.starts_with("Heatmap of"));
}

TEST_CASE("text in SVG files is text of a named font, or outlines if asked for") {
  const Heatmap heatmap = heatmap_of(3);
  const std::string text = svg_of(heatmap);
  CHECK(text.find(">Query Sequence Position</text>") != text.npos);
  CHECK(text.find("font-family=\"'DejaVu Sans', ") != text.npos);
  CHECK(text.find("glyph") == text.npos);
  PlotOptions options;
  options.figure.letters = Letters::outlines;
  const std::string outlines = svg_of(heatmap, options);
  CHECK(outlines.find("<text") == outlines.npos);
  CHECK(outlines.find("glyph") != outlines.npos);
  const std::string pdf = draw_heatmap(heatmap, options.heatmap(), PictureFormat::pdf).bytes;
  CHECK(test::pdf_text(pdf).find("/Type /Font\n") == pdf.npos);
}

TEST_CASE("a grid of 144 large maps is a small vector file, each map one image") {
  HeatmapGrid grid{12, 12, {}};
  for (std::size_t i = 0; i < 144; ++i) {
    Heatmap panel;
    panel.weights = test::example_weights(128, 128, i);
    grid.panels.push_back(std::move(panel));
  }
  PlotOptions options;
  options.figure.figsize = {7, 7};
  const std::string svg = draw_grid(grid, options.grid(), PictureFormat::svg).bytes;
  CHECK(svg.size() <= 1'000'000);
  std::size_t images = 0;
  for (std::size_t at = svg.find("<image "); at != svg.npos; at = svg.find("<image ", at + 1)) {
    ++images;
  }
  CHECK(images >= 144);
  CHECK(draw_grid(grid, options.grid(), PictureFormat::pdf).bytes.size() <= 1'000'000);
}

TEST_CASE("in an SVG file the paper lies under images, and these under frames and ticks") {
  Heatmap heatmap;
  heatmap.weights = test::example_weights(128, 128, 1);
  PlotOptions dark, clear;
  dark.figure.background = Background::dark;
  clear.figure.background = Background::transparent;
  const std::string svg = svg_of(heatmap, dark);
  const std::size_t paper = svg.find("<rect width=\"100%\" height=\"100%\" fill=\"#1c1c1e\"/>\n");
  const std::size_t image = svg.find("<image "), drawing = svg.find("<path ");
  CHECK(paper < image);
  CHECK(image < drawing);
  CHECK(drawing != svg.npos);
  CHECK(svg_of(heatmap, clear).find("<rect ") == svg.npos);
}

TEST_CASE("few cells stay rectangles that can be edited") {
  // Forms of Cairo 1.16 and 1.18.
  const std::string svg = svg_of(heatmap_of(8));
  CHECK((svg.find("<path style=\" stroke:none;") != svg.npos ||
         svg.find("<path fill-rule=\"nonzero\" fill=\"rgb(") != svg.npos));
}

TEST_CASE("a figure without a colour bar gives its room to the map") {
  PlotOptions with = options_of(Background::white), without = with;
  with.figure.figsize =
      without.figure.figsize = {4, 8};  // so high that the width is all that counts
  without.colors.bar = false;
  Heatmap heatmap;
  heatmap.weights = test::example_weights(8, 8);
  const Picture barred = draw_heatmap(heatmap, with.heatmap(), PictureFormat::png);
  const Picture bare = draw_heatmap(heatmap, without.heatmap(), PictureFormat::png);
  CHECK(barred.frames.size() == 2);
  REQUIRE(bare.frames.size() == 1);
  CHECK(bare.frames[0].right - bare.frames[0].left >
        barred.frames[0].right - barred.frames[0].left + 20);
}

}  // namespace
