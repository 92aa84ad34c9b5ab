#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "attn/plot.hpp"

#include "error_from.hpp"
#include "plot/decoded_picture.hpp"
#include "plot/example_figures.hpp"

namespace {

using namespace attn;

HeadLines heads(std::size_t count, std::size_t queries, std::size_t keys) {
  HeadLines lines;
  for (std::size_t i = 0; i < count; ++i) {
    Heatmap head;
    head.weights = test::example_weights(queries, keys, i);
    head.title = "Head " + std::to_string(i + 1);
    lines.heads.push_back(std::move(head));
  }
  return lines;
}

LinesOptions small() {
  LinesOptions options;
  options.figure.dpi = 60;
  return options;
}

std::string refusal(const HeadLines& lines) {
  return error_from([&] { draw_lines(lines, small(), PictureFormat::png); });
}

// Number of lines in an SVG file, with those of the legend of weights and of heads.
std::size_t lines_in(const HeadLines& lines, const LinesOptions& options) {
  const std::string svg = draw_lines(lines, options, PictureFormat::svg).bytes;
  std::size_t count = 0;
  for (std::size_t at = svg.find("stroke-width"); at != std::string::npos;
       at = svg.find("stroke-width", at + 1))
    ++count;
  return count;
}

TEST_CASE("each weight is a line, and of each query only the strongest are drawn if so asked") {
  LinesOptions options = small();
  const std::size_t all = lines_in(heads(1, 4, 5), options);
  CHECK(all == 20 + 3);
  options.top = 2;
  CHECK(lines_in(heads(1, 4, 5), options) == 8 + 3);
  CHECK(lines_in(heads(3, 4, 5), options) == 24 + 3 + 3);
  options.top = 9;
  CHECK(lines_in(heads(1, 4, 5), options) == all);
}

TEST_CASE("weights below the threshold are no lines") {
  LinesOptions options = small();
  HeadLines lines = heads(1, 1, 3);
  lines.heads[0].weights = Tensor({1, 3}, std::vector<float>{0.5F, 0.3F, 0.2F});
  CHECK(lines_in(lines, options) == 3 + 3);
  // The key has those of its three weights that are not below the threshold.
  options.threshold = 0.3;
  CHECK(lines_in(lines, options) == 2 + 2);  // 0.3 as float32 is a little more
  options.threshold = 0.31;
  CHECK(lines_in(lines, options) == 1 + 2);
}

TEST_CASE("one head needs no legend, several are named in it") {
  const auto written = [](const Picture& picture, const std::string& text) {
    std::size_t count = 0;
    for (const PictureText& line : picture.texts) count += line.text == text ? 1 : 0;
    return count;
  };
  CHECK(written(draw_lines(heads(1, 2, 2), small(), PictureFormat::png), "Head 1") == 0);
  CHECK(written(draw_lines(heads(2, 2, 2), small(), PictureFormat::png), "Head 2") == 1);
}

TEST_CASE("of very many lines the strongest are drawn, and a warning says so") {
  LinesOptions options = small();
  options.top = 200;
  const Picture picture = draw_lines(heads(1, 200, 200), options, PictureFormat::png);
  REQUIRE(picture.warnings.size() == 1);
  CHECK(picture.warnings[0] ==
        "only the 4000 strongest lines are drawn: choose fewer keys per query, stronger weights, "
        "or a part of the positions");
  CHECK(draw_lines(heads(1, 60, 60), options, PictureFormat::png).warnings.empty());
}

// All lines of text, a space between one and the next.
std::string words_of(const Picture& picture) {
  std::string all;
  for (const PictureText& line : picture.texts) all += line.text + " ";
  return all;
}

bool writes(const Picture& picture, const std::string& text) {
  for (const PictureText& line : picture.texts) {
    if (line.text == text) return true;
  }
  return false;
}

TEST_CASE("of long inputs the three strongest keys of each query are drawn, and the key says so") {
  const LinesOptions options = small();
  HeadLines lines = heads(1, 5, 13);
  std::vector<double> weights(5 * 13);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<double>(i * 5 % 13 + 1) / 91;
  }
  lines.heads[0].weights = Tensor({5, 13}, std::move(weights));
  CHECK(lines_in(lines, options) == 15 + 3);
  CHECK(writes(draw_lines(lines, options, PictureFormat::png), "the 3 strongest keys per query"));
  CHECK(lines_in(heads(1, 5, 12), options) == 60 + 3);
}

TEST_CASE(
    "the key of lines has no weights that a threshold leaves out, and says what is left out") {
  HeadLines lines = heads(1, 2, 3);
  lines.heads[0].weights = Tensor({2, 3}, std::vector<double>{0.7, 0.2, 0.1, 0.05, 0.05, 0.9});
  LinesOptions options = small();
  options.threshold = 0.3;
  const Picture above = draw_lines(lines, options, PictureFormat::png);
  CHECK(writes(above, "none below 0.3"));
  CHECK_FALSE(writes(above, "weight 0.1"));
  CHECK(writes(above, "weight 0.5"));
  options.threshold = 0;
  options.top = 1;
  CHECK(writes(draw_lines(lines, options, PictureFormat::png), "the strongest key per query"));
  options.top = 2;
  CHECK(writes(draw_lines(lines, options, PictureFormat::png), "the 2 strongest keys per query"));
  options.top = 3;
  CHECK_FALSE(
      writes(draw_lines(lines, options, PictureFormat::png), "the 3 strongest keys per query"));
}

TEST_CASE("weights that are equal, or nearly so, have no lines, and the figure says so") {
  HeadLines lines = heads(1, 1, 20);
  lines.heads[0].weights = Tensor({1, 20}, std::vector<double>(20, 0.05));
  CHECK(lines_in(lines, small()) == 0 + 3);
  const std::string reason = "No key stands out: the weights are equal, or nearly so";
  CHECK(words_of(draw_lines(lines, small(), PictureFormat::png)).find(reason) != std::string::npos);
  std::vector<double> near(20, 0.05);
  near[3] = 0.07, near[4] = 0.03;
  lines.heads[0].weights = Tensor({1, 20}, near);
  CHECK(lines_in(lines, small()) == 0 + 3);
  LinesOptions asked = small();
  asked.top = 1;
  CHECK(lines_in(lines, asked) == 1 + 3);
  asked.top = 2;
  CHECK(writes(draw_lines(lines, asked, PictureFormat::png), "no lines for equal weights"));
  std::vector<double> weights(20, 0.04);
  weights[7] = 0.24;
  lines.heads[0].weights = Tensor({1, 20}, std::move(weights));
  CHECK(lines_in(lines, small()) == 1 + 3);
}

TEST_CASE("a figure without lines says why") {
  HeadLines lines = heads(1, 1, 3);
  lines.heads[0].weights = Tensor({1, 3}, std::vector<double>{-0.5, -0.3, -0.2});
  CHECK(words_of(draw_lines(lines, small(), PictureFormat::png))
            .find("Weights below zero have no lines") != std::string::npos);
  lines.heads[0].weights = Tensor({1, 3}, std::vector<double>{0.5, 0.3, 0.2});
  LinesOptions options = small();
  options.threshold = 0.6;
  CHECK(words_of(draw_lines(lines, options, PictureFormat::png)).find("No weight reaches 0.6") !=
        std::string::npos);
}

TEST_CASE("lines of small weights are as thick as those of large ones, and the legend says it") {
  HeadLines lines = heads(1, 1, 3);
  lines.heads[0].weights = Tensor({1, 3}, std::vector<double>{0.001, 0.0004, 0.0002});
  CHECK(lines_in(lines, small()) == 3 + 3);
  CHECK(writes(draw_lines(lines, small(), PictureFormat::png), "weight 0.001"));
}

TEST_CASE("a legend tells how thick a weight is, on a scale that ends at 1 or at the largest") {
  CHECK(writes(draw_lines(heads(1, 2, 2), small(), PictureFormat::png), "weight 0.5"));
  HeadLines scores = heads(1, 1, 2);
  scores.heads[0].weights = Tensor({1, 2}, std::vector<double>{8, 2});
  CHECK(writes(draw_lines(scores, small(), PictureFormat::png), "weight 8"));
}

TEST_CASE("what cannot be lines is counted in a warning") {
  HeadLines lines = heads(1, 1, 4);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  lines.heads[0].weights = Tensor({1, 4}, std::vector<double>{0.5, -0.5, -0.1, nan});
  const Picture picture = draw_lines(lines, small(), PictureFormat::png);
  REQUIRE(picture.warnings.size() == 2);
  CHECK(picture.warnings[0] == "2 weights below zero: they cannot be drawn as lines");
  CHECK(picture.warnings[1] == "1 weight not finite: it cannot be drawn as a line");
}

TEST_CASE("what has no weights, or weights of several shapes, is refused") {
  CHECK(refusal({}) ==
        "there are no weights to draw\n"
        "  help:  give at least one head");
  HeadLines lines = heads(2, 2, 2);
  lines.heads[1].weights = test::example_weights(2, 3);
  CHECK(refusal(lines) ==
        "the heads' weights differ in shape\n"
        "  where: head 1\n"
        "  help:  all must have the same shape");
  lines.heads[1].weights = Tensor();
  CHECK(refusal(lines) ==
        "there are no weights to draw\n"
        "  where: head 1\n"
        "  help:  give a matrix of weights");
}

}  // namespace
