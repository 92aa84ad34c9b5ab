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

TEST_CASE("the strongest arcs have their weights, and equal ones none") {
  HeadLines lines = arcs(1, 4);
  lines.heads[0].weights = Tensor({1, 4}, std::vector<double>{0.62, 0.2, 0.09, 0.09});
  const Picture picture = draw_arcs(lines, {}, PictureFormat::png);
  CHECK(arc_text(picture, "0.62") != nullptr);
  CHECK(arc_text(picture, "0.2") != nullptr);
  lines.heads[0].weights = Tensor({1, 4}, std::vector<double>(4, 0.25));
  CHECK(arc_text(draw_arcs(lines, {}, PictureFormat::png), "weight 0.5") != nullptr);
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
