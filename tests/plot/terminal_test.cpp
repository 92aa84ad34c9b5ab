#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/plot.hpp"

#include "plot/terminal_text.hpp"

namespace {

using attn::TerminalColors;

attn::Heatmap two_by_three() {
  attn::Heatmap heatmap;
  heatmap.weights = attn::Tensor({2, 3}, std::vector<float>{0, 0.25F, 0.75F, 0.1F, 0.5F, 0.4F});
  heatmap.title = "Weights";
  return heatmap;
}

attn::Heatmap filled(std::size_t rows, std::size_t columns, float value) {
  attn::Heatmap heatmap;
  heatmap.weights = attn::Tensor({rows, columns}, std::vector<float>(rows * columns, value));
  return heatmap;
}

attn::TerminalOptions options(std::size_t columns, TerminalColors colors = TerminalColors::none) {
  attn::TerminalOptions result;
  result.columns = columns;
  result.colors = colors;
  result.cmap = "gray";
  return result;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("without colours a heatmap is values among shades of text, or either alone") {
  CHECK(attn::draw_in_terminal(two_by_three(), options(60)) ==
        "Weights; rows: queries, columns: keys\n"
        "       K_1     K_2     K_3\n"
        "Q_1 ...0....--0.25--##0.75##\n"
        "Q_2 ..0.10..++0.50++==0.40==\n"
        "    0 ...:::---===+++***###%%%@@@ 1\n");
  CHECK(attn::draw_in_terminal(two_by_three(), options(27)) ==
        "Weights\n"
        "      K_1   K_2   K_3\n"
        "Q_1      0  0.25  0.75\n"
        "Q_2   0.10  0.50  0.40\n"
        "    0 … 1\n");
  attn::Heatmap narrow = two_by_three();
  narrow.weights =
      attn::Tensor({2, 4}, std::vector<float>{0, 0.25F, 0.75F, 0, 0.1F, 0.5F, 0.4F, 0});
  CHECK(attn::draw_in_terminal(narrow, options(20))
            .find("\nQ_1 ....----####....\nQ_2 ....++++====....\n") != std::string::npos);
}

TEST_CASE("the ends of the scale are short, however many digits the numbers have") {
  attn::Heatmap heatmap = two_by_three();
  heatmap.weights = attn::Tensor({1, 2}, std::vector<double>{1.0 / 3, 0.0935518068172312});
  CHECK(attn::draw_in_terminal(heatmap, options(60))
            .ends_with("\n    0 ...:::---===+++***###%%%@@@ 0.3333\n"));
}

TEST_CASE("with colours each cell holds its value, black or white on the map's colour") {
  attn::Heatmap heatmap = two_by_three();
  heatmap.weights = attn::Tensor({1, 2}, std::vector<double>{0, 0.75});
  const std::string drawn = attn::draw_in_terminal(heatmap, options(40, TerminalColors::truecolor));
  CHECK(
      drawn.starts_with("Weights; rows: queries, columns: keys\n"
                        "      K_1   K_2\n"
                        "Q_1 \x1b[48;2;0;0;0m\x1b[38;2;255;255;255m  0   "
                        "\x1b[48;2;255;255;255m\x1b[38;2;0;0;0m 0.75 \x1b[0m\n"
                        "    0 \x1b[48;2;"));
  CHECK(drawn.ends_with("m \x1b[49m 0.75\n"));
}

TEST_CASE("a palette of 256 colours takes the nearest ones") {
  CHECK(attn::plot::nearest_in_palette({255, 255, 255}) == 231);
  CHECK(attn::plot::nearest_in_palette({0, 0, 0}) == 16);
  CHECK(attn::plot::nearest_in_palette({254, 1, 2}) == 196);
  CHECK(attn::plot::nearest_in_palette({128, 128, 128}) == 244);
  const std::string drawn =
      attn::draw_in_terminal(two_by_three(), options(40, TerminalColors::palette));
  CHECK(drawn.find("\x1b[48;5;16m\x1b[38;5;231m  0   ") != drawn.npos);
  CHECK(drawn.find("8;2;") == drawn.npos);
}

TEST_CASE("hidden cells are told from the smallest weights, and NaN from both") {
  attn::Heatmap heatmap = two_by_three();
  heatmap.weights = attn::Tensor({1, 3}, std::vector<float>{0, 1, std::nanf("")});
  heatmap.allowed = attn::Tensor({1, 3}, std::vector<std::uint8_t>{1, 0, 1});
  heatmap.title = "w";
  // The hidden 1 does not stretch the scale, which is that of weights.
  CHECK(attn::draw_in_terminal(heatmap, options(60)) ==
        "w; rows: queries, columns: keys\n"
        "      K_1    K_2    K_3\n"
        "Q_1 ...0...       ???????\n"
        "    0 ...:::---===+++***###%%%@@@ 0.1   blank: hidden   ? NaN\n");
  const std::string drawn = attn::draw_in_terminal(heatmap, options(60, TerminalColors::truecolor));
  CHECK(drawn.find("\x1b[49m\x1b[39m  ·  \x1b[48;2;106;130;190m") != drawn.npos);
  CHECK(drawn.find("   · hidden   \x1b[48;2;106;130;190m  \x1b[49m NaN\n") != drawn.npos);
}

TEST_CASE("infinities are apart from the scale, which begins at zero for weights") {
  attn::Heatmap heatmap = two_by_three();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  heatmap.weights = attn::Tensor({1, 4}, std::vector<float>{-infinity, 1, 2, infinity});
  heatmap.title = "w";
  CHECK(attn::draw_in_terminal(heatmap, options(60)) ==
        "w; rows: queries, columns: keys\n"
        "      K_1   K_2   K_3   K_4\n"
        "Q_1 vvvvvv++1+++@@2@@@^^^^^^\n"
        "    0 ...:::---===+++***###%%%@@@ 2   v \u2212\u221e   ^ \u221e\n");
  heatmap.weights = attn::Tensor({1, 1}, std::vector<float>{infinity});
  CHECK(attn::draw_in_terminal(heatmap, options(60))
            .ends_with("\n    no finite weights   ^ \u221e\n"));
}

TEST_CASE("numbers of both signs have zero in the middle of a diverging map by themselves") {
  attn::Heatmap heatmap = two_by_three();
  heatmap.weights = attn::Tensor({1, 3}, std::vector<double>{-0.25, 0, 1});
  attn::TerminalOptions of_itself = options(60, TerminalColors::truecolor);
  of_itself.cmap.reset();
  const std::string drawn = attn::draw_in_terminal(heatmap, of_itself);
  CHECK(drawn.find("\n    \u22121 \x1b[48;2;") != drawn.npos);
  CHECK(drawn.ends_with(" 1\n"));
  CHECK(drawn.find("\x1b[48;2;247;246;246m") != drawn.npos);  // RdBu_r's middle
}

TEST_CASE("the scale may be as short or as long as numbers allow") {
  attn::Heatmap heatmap = two_by_three();
  const auto line = [&](std::vector<double> values) {
    const std::size_t count = values.size();
    heatmap.weights = attn::Tensor({1, count}, std::move(values));
    const std::string drawn = attn::draw_in_terminal(heatmap, options(60));
    const std::size_t at = drawn.find("Q_1 ");
    return drawn.substr(at, drawn.find('\n', at) - at);
  };
  CHECK(line({0, 5e-324}) == "Q_1 ..0.....~0..");
  CHECK(line({0.44, 0.56}) == "Q_1 ==0.44==**0.56**");
  CHECK(line({-1.7e308, 0, 1.7e308}) == "Q_1 ..\u22121.7e308..+++++0++++++@@1.7e308@@@");
}

TEST_CASE("of more cells than columns and lines the largest are shown") {
  // One weight among many, anywhere: its cell is the only one above zero.
  for (const std::size_t at : {0U, 12345U, 39999U}) {
    std::vector<float> weights(200 * 200);
    weights[at] = 1;
    attn::Heatmap heatmap;
    heatmap.weights = attn::Tensor({200, 200}, weights);
    attn::TerminalOptions small = options(46);
    small.lines = 30;
    const std::string drawn = attn::draw_in_terminal(heatmap, small);
    const std::string cells = drawn.substr(0, drawn.find("\n      0 "));
    CHECK(count(cells, "@") == 1);
    // 46 columns less 6 of labels; 30 lines less title, header, scale, remark and prompt.
    CHECK(
        drawn.ends_with("Each cell is the largest of up to 9 × 5 of 200 × 200 weights;\n"
                        "they go from 0 to 1.\n"));
  }
}

TEST_CASE("half blocks show two rows a line where colours are there and lines are few") {
  attn::Heatmap heatmap;
  std::vector<float> weights(30 * 2);
  weights[1] = weights[2] = 1;  // row 0, right, and row 1, left
  heatmap.weights = attn::Tensor({30, 2}, weights);
  heatmap.title = "w";
  attn::TerminalOptions few = options(40, TerminalColors::truecolor);
  few.lines = 24;
  const std::string drawn = attn::draw_in_terminal(heatmap, few);
  CHECK(count(drawn, "\n") == 2 + 15 + 1);
  CHECK(drawn.find("Q_1  \x1b[48;2;255;255;255m\x1b[38;2;0;0;0m▀▀▀▀▀▀"
                   "\x1b[48;2;0;0;0m\x1b[38;2;255;255;255m▀▀▀▀▀▀\x1b[0m\nQ_3  ") != drawn.npos);
}

TEST_CASE("labels that do not fit their cells are turned, and those made up thin out") {
  attn::Heatmap heatmap = filled(1, 4, 0.5F);
  heatmap.query_labels = {"query"};
  heatmap.key_labels = {"我", "喜欢", "study", "a"};
  heatmap.title = "w";
  attn::TerminalOptions narrow = options(20);
  CHECK(attn::draw_in_terminal(heatmap, narrow) ==
        "w\n"
        "             s\n"
        "             t\n"
        "             u\n"
        "          喜 d\n"
        "       我 欢 y  a\n"
        "query @@@@@@@@@@@@\n"
        "      0 .:-=+*#%@ 0.5\n");
  heatmap = filled(1, 12, 0.5F);
  heatmap.title = "w";
  CHECK(attn::draw_in_terminal(heatmap, options(30)) ==
        "w\n"
        "    K_1 K_3 K_5 K_7 K_9 K_11\n"
        "Q_1 @@@@@@@@@@@@@@@@@@@@@@@@\n"
        "    0 ...::--==+++**##%%@@ 0.5\n");
}

TEST_CASE("nothing in a label or a title commands the terminal") {
  attn::Heatmap heatmap = filled(1, 1, 0.5F);
  heatmap.title = "red \x1b[31m\x07";
  heatmap.query_labels = {"a\xC2\x9B\x32J"};
  heatmap.key_labels = {"\xff\t"};
  CHECK(attn::draw_in_terminal(heatmap, options(60)) ==
        "red \\x1b[31m\\x07; rows: queries, columns: keys\n"
        "         \\xff\\t\n"
        "a\\x9b2J @@0.50@@\n"
        "        0 ...:::---===+++***###%%%@@@ 0.5\n");
}

TEST_CASE("what cannot be drawn is refused as in pictures") {
  attn::TerminalOptions unknown = options(60);
  unknown.cmap = "YlOrR";
  CHECK_THROWS_WITH_AS(attn::draw_in_terminal(two_by_three(), unknown),
                       "unknown colour map \"YlOrR\"\n  help:  did you mean \"YlOrRd\"?",
                       attn::Error);
  attn::Heatmap heatmap;
  heatmap.weights = attn::Tensor({1, 2, 3}, std::vector<float>(6));
  CHECK_THROWS_WITH_AS(attn::draw_in_terminal(heatmap, options(60)),
                       "weights of shape [1,2,3] cannot be drawn as a heatmap\n"
                       "  where: weights\n"
                       "  help:  choose one sample and head: a heatmap is one matrix, "
                       "[queries,keys]",
                       attn::Error);
}
