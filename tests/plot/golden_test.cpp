#include <cstdlib>
#include <fstream>
#include <thread>

#include <cairo.h>
#include <doctest/doctest.h>

#include "plot/decoded_picture.hpp"
#include "plot/example_figures.hpp"
#include "plot/pdf_text.hpp"

namespace {

using attn::PictureFormat;
using attn::PlotStyle;
using attn::test::decode_png;
using attn::test::example_figures;

// Small differences of anti-aliasing are allowed everywhere, larger ones on few pixels: an edge
// that a rounding moves by one pixel, or letters of another version of the font.
constexpr int tolerance = 48;
constexpr double most_differing = 0.01;

std::string path_of(const std::string& name) {
  return std::string(ATTN_TEST_DATA) + "/plot/golden/" + name + ".png";
}

TEST_CASE("figures look like the stored ones, those of the matplotlib style like matplotlib's") {
  const bool rewrite = std::getenv("ATTN_REWRITE_GOLDEN") != nullptr;
  for (const auto& figure : example_figures()) {
    CAPTURE(figure.name);
    const std::string bytes = figure.draw(PictureFormat::png).bytes;
    if (rewrite && figure.style == PlotStyle::standard) {
      std::ofstream(path_of(figure.name), std::ios::binary) << bytes;
    }
    const auto stored = decode_png(attn::test::read_file(path_of(figure.name)));
    const auto drawn = decode_png(bytes);
    CHECK(drawn.width == stored.width);
    CHECK(drawn.height == stored.height);
    CHECK(differing_share(drawn, stored, tolerance) <= most_differing);
  }
}

TEST_CASE("the same figure is the same file in every format") {
  for (const auto format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
    for (const auto& figure : example_figures()) {
      CAPTURE(figure.name);
      CHECK(figure.draw(format).bytes == figure.draw(format).bytes);
    }
  }
}

TEST_CASE("figures can be drawn by several threads at once") {
  const auto& figures = example_figures();
  std::vector<std::string> alone, together(figures.size());
  for (const auto& figure : figures) alone.push_back(figure.draw(PictureFormat::png).bytes);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    threads.emplace_back([&, i] { together[i] = figures[i].draw(PictureFormat::png).bytes; });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < figures.size(); ++i) CHECK(together[i] == alone[i]);
}

TEST_CASE("vector files begin as their format says and tell no time of drawing") {
  for (const auto& figure : example_figures()) {
    CAPTURE(figure.name);
    CHECK(figure.draw(PictureFormat::svg).bytes.find("<svg ") != std::string::npos);
    const std::string pdf = figure.draw(PictureFormat::pdf).bytes;
    CHECK(pdf.starts_with("%PDF-"));
    CHECK(attn::test::pdf_text(pdf).find("Date") == std::string::npos);
  }
}

TEST_CASE("SVG files are those stored, as text") {
  const bool rewrite = std::getenv("ATTN_REWRITE_GOLDEN") != nullptr;
  for (const auto& figure : example_figures()) {
    if (figure.name != "tokens_standard" && figure.name != "mask_standard") continue;
    CAPTURE(figure.name);
    std::string svg = figure.draw(PictureFormat::svg).bytes;
    // The version of the program is none of the figure.
    const std::size_t maker = svg.find("<metadata>"), end = svg.find("</metadata>\n");
    REQUIRE(maker < end);
    svg.erase(maker, end + std::string("</metadata>\n").size() - maker);
    // Cairo writes paths in another way since 1.17.6.
    const bool newer = cairo_version() >= CAIRO_VERSION_ENCODE(1, 17, 6);
    const std::string path = std::string(ATTN_TEST_DATA) + "/plot/golden/" + figure.name +
                             (newer ? ".cairo-1.18.svg" : ".svg");
    if (rewrite) std::ofstream(path, std::ios::binary) << svg;
    CHECK((svg == attn::test::read_file(path)));
  }
}

TEST_CASE("text in PDF files is text: fonts that tell which letters they draw") {
  const std::string pdf = attn::test::pdf_text(example_figures()[0].draw(PictureFormat::pdf).bytes);
  CHECK(pdf.find("/Type /Font\n") != std::string::npos);
  CHECK(pdf.find("/ToUnicode") != std::string::npos);
  CHECK(pdf.find("DejaVuSans") != std::string::npos);
}

TEST_CASE("margins are even: a tenth of an inch on every side") {
  for (const auto& figure : example_figures()) {
    CAPTURE(figure.name);
    const auto margins = margins_of(decode_png(figure.draw(PictureFormat::png).bytes));
    for (const auto margin : {margins.left, margins.top, margins.right, margins.bottom}) {
      CHECK(margin >= 4);
      CHECK(margin <= 9);
    }
  }
}

}  // namespace
