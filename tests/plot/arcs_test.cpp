#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/plot.hpp"

#include "error_from.hpp"
#include "plot/example_figures.hpp"

namespace {

using namespace attn;

HeadLines arcs(std::size_t queries, std::size_t keys) {
  HeadLines lines;
  Heatmap& head = lines.heads.emplace_back();
  head.weights = test::example_weights(queries, keys);
  for (std::size_t j = 0; j < keys; ++j) head.key_labels.push_back("t" + std::to_string(j));
  head.query_labels = {head.key_labels.end() - static_cast<std::ptrdiff_t>(queries),
                       head.key_labels.end()};
  head.first_query = keys - queries;
  lines.title = "Reading";
  return lines;
}

const PictureText* arc_text(const Picture& picture, const std::string& text) {
  const auto found = std::find_if(picture.texts.begin(), picture.texts.end(),
                                  [&](const PictureText& line) { return line.text == text; });
  return found == picture.texts.end() ? nullptr : &*found;
}

TEST_CASE("arcs stand above one line of text, each token once and in its order") {
  const Picture picture = draw_arcs(arcs(4, 4), {}, PictureFormat::svg);
  double x = 0;
  for (const std::string token : {"t0", "t1", "t2", "t3"}) {
    CAPTURE(token);
    CHECK(std::count_if(picture.texts.begin(), picture.texts.end(),
                        [&](const PictureText& line) { return line.text == token; }) == 1);
    REQUIRE(arc_text(picture, token) != nullptr);
    CHECK(arc_text(picture, token)->x > x);
    CHECK(arc_text(picture, token)->y == arc_text(picture, "t0")->y);
    x = arc_text(picture, token)->x;
  }
  CHECK(picture.description ==
        "Arcs from 4 queries to 4 keys for 1 head, thicker for larger weights.");
}

TEST_CASE("few tokens stand wide apart, so that their arcs are no narrow loops") {
  const Picture few = draw_arcs(arcs(4, 4), {}, PictureFormat::svg);
  constexpr double frame = 8 * 72 * 0.6;  // points; less than the figure, which has a key
  CHECK(arc_text(few, "t3")->x - arc_text(few, "t0")->x > 0.6 * frame);
}

TEST_CASE("the strongest arcs have their weights, and equal ones none") {
  HeadLines lines = arcs(1, 4);
  lines.heads[0].weights = Tensor({1, 4}, std::vector<double>{0.62, 0.2, 0.09, 0.09});
  const Picture picture = draw_arcs(lines, {}, PictureFormat::png);
  CHECK(arc_text(picture, "0.62") != nullptr);
  CHECK(arc_text(picture, "0.2") != nullptr);
  lines.heads[0].weights = Tensor({1, 4}, std::vector<double>(4, 0.25));
  CHECK(arc_text(draw_arcs(lines, {}, PictureFormat::png), "weight 0.5") != nullptr);
}

TEST_CASE(
    "of long texts the strongest arcs are drawn, the tokens that they join are named, and the key "
    "says so") {
  constexpr std::size_t count = 200;
  HeadLines lines = arcs(count, count);
  std::vector<double> weights(count * count, 0.5 / (count - 1));
  for (std::size_t i = 0; i < count; ++i)
    weights[i * count + i / 2] = 0.5 - 0.001 * static_cast<double>(i);
  lines.heads[0].weights = Tensor({count, count}, std::move(weights));
  const Picture picture = draw_arcs(lines, {}, PictureFormat::svg);
  CHECK(arc_text(picture, "the strongest 30 of 200 queries,") != nullptr);
  // Queries 0 to 29 have the strongest; they look at 0 to 14.
  CHECK(arc_text(picture, "t29") != nullptr);
  CHECK(arc_text(picture, "t30") == nullptr);
  std::vector<double> places;
  for (int i = 0; i < 30; ++i) places.push_back(arc_text(picture, "t" + std::to_string(i))->x);
  for (std::size_t i = 1; i < places.size(); ++i) CHECK(places[i] - places[i - 1] > 5);
  LinesOptions all;
  all.top = 3;
  CHECK(arc_text(draw_arcs(lines, all, PictureFormat::svg), "t29") == nullptr);
}

TEST_CASE("parts of a text have brackets below their words") {
  HeadLines lines = arcs(4, 4);
  lines.heads[0].key_spans = {{"prompt", 0, 2}, {"answer", 2, 4}};
  const Picture picture = draw_arcs(lines, {}, PictureFormat::svg);
  REQUIRE(arc_text(picture, "answer") != nullptr);
  CHECK(arc_text(picture, "answer")->y > arc_text(picture, "t3")->y);
  CHECK(arc_text(picture, "answer")->x > arc_text(picture, "prompt")->x);
}

TEST_CASE("many tokens are turned or counted, and a text of one token is drawn") {
  for (const std::size_t tokens : {1U, 2U, 40U, 90U, 300U}) {
    CAPTURE(tokens);
    CHECK_FALSE(draw_arcs(arcs(tokens, tokens), {}, PictureFormat::png).bytes.empty());
  }
}

TEST_CASE("queries of another text have no arcs") {
  HeadLines lines = arcs(2, 4);
  lines.heads[0].query_labels = {"other", "words"};
  CHECK(error_from([&] { draw_arcs(lines, {}, PictureFormat::png); }) ==
        "the queries are not tokens of the keys' text\n"
        "  help:  arcs are drawn above one text: draw lines");
}

}  // namespace
