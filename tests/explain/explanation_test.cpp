#include "explain/explanation.hpp"

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/utf8.hpp"

namespace {

using attn::Excerpt;
using attn::Explanation;
using attn::shown_column;
using attn::shown_number;
using Indices = std::vector<std::size_t>;

std::string text_of(Explanation::Block block) {
  Explanation::Step step;
  step.blocks.push_back(std::move(block));
  return attn::step_text(step, 3);
}

std::string markdown_of(Explanation::Block block) {
  Explanation explanation;
  explanation.title = "T";
  explanation.put(std::move(block));
  return attn::explanation_markdown(explanation).substr(std::string("# T\n\n").size());
}

std::vector<double> counted(std::size_t count) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(static_cast<double>(i));
  return numbers;
}

Explanation::Sums sum_of(std::size_t terms) {
  const std::vector<double> numbers = counted(terms), ones(terms, -1);
  const double total = -static_cast<double>(terms * (terms - 1) / 2);
  return {{attn::product_sum("key 0", ones, numbers, total)}, Excerpt::all(1), {}};
}

}  // namespace

TEST_CASE(
    "a product keeps the sign of its first factor apart and puts a negative second one in "
    "parentheses") {
  const auto shown = [](double a, double b) {
    const Explanation::Term term = attn::product_term(a, b);
    return std::string(term.negative ? "-" : "+") + term.text;
  };
  CHECK(shown(1, 2) == "+1·2");
  CHECK(shown(-1, 2) == "-1·2");
  CHECK(shown(-1, -0.5) == "-1·(-0.5)");
  CHECK(shown(-0.0, 1) == "+0·1");
}

TEST_CASE("a sum is written out while it takes three lines") {
  CHECK(text_of(sum_of(3)) == "   key 0  -1·0 - 1·1 - 1·2 = -3\n");
  CHECK(text_of(sum_of(25)) ==
        "   key 0  -1·0 - 1·1 - 1·2 - 1·3 - 1·4 - 1·5 - 1·6 - 1·7 - 1·8 - 1·9 - 1·10\n"
        "          - 1·11 - 1·12 - 1·13 - 1·14 - 1·15 - 1·16 - 1·17 - 1·18 - 1·19 - 1·20\n"
        "          - 1·21 - 1·22 - 1·23 - 1·24 = -300\n");
}

TEST_CASE("of a longer sum the middle is left out and counted") {
  CHECK(text_of(sum_of(64)) ==
        "   key 0  -1·0 - 1·1 - 1·2 - 1·3 - 1·4 - 1·5 - 1·6 - 1·7 - 1·8 - 1·9 - 1·10\n"
        "          - 1·11 + … 47 more terms … - 1·59 - 1·60 - 1·61 - 1·62 - 1·63 = -2016\n");
  CHECK(markdown_of(sum_of(13)) ==
        "|  | terms | sum |\n| --- | --- | ---: |\n"
        "| key 0 | -1·0 - 1·1 - 1·2 - 1·3 - 1·4 - 1·5 + … 5 more terms … - 1·11 - 1·12 | -78 |\n");
}

TEST_CASE("a sum whose shown digits give another total is marked as rounded") {
  const std::array<double, 2> third{1.0 / 3, 1.0 / 3}, ones{1, 1};
  const Explanation::Sums sums{
      {attn::product_sum("out", third, ones, 2.0 / 3)}, Excerpt::all(1), {}};
  CHECK(text_of(sums) == "   out  0.3333·1 + 0.3333·1 ≈ 0.6667\n");
  CHECK(markdown_of(sums).ends_with("| out | 0.3333·1 + 0.3333·1 | ≈ 0.6667 |\n"));
}

TEST_CASE("a sum of nothing is 0") {
  CHECK(text_of(Explanation::Sums{{{"out[0]", {}, "0"}}, Excerpt::all(1), {}}) ==
        "   out[0]  0 = 0\n");
}

TEST_CASE("components of a vector that do not fit are left out and counted") {
  const Explanation::Vectors block{{{"q", counted(64)}}, Excerpt::all(1), {}};
  CHECK(text_of(block) ==
        "       [0]   [1]   [2]   [3]   [4]   [5]   [6]  … 54 more …  [61]  [62]  [63]\n"
        "   q     0     1     2     3     4     5     6       …         61    62    63\n");
  CHECK(markdown_of(block) ==
        "|  | [0] | [1] | [2] | [3] | [4] | [5] | … 56 more … | [62] | [63] |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| q | 0 | 1 | 2 | 3 | 4 | 5 | … | 62 | 63 |\n");
}

TEST_CASE("rows that are left out are counted, and wide characters stand in line") {
  Explanation::Table table;
  table.rows = Excerpt(9, 3, 1, 1);
  table.noun = attn::keys_left_out;
  table.columns = {{"key", {"0 我", "8 mat"}, false, "sum"},
                   attn::number_column("weight", std::vector<double>{0.5, 0.25}, 1)};
  CHECK(text_of(table) ==
        "   key    weight\n"
        "   0 我     0.50\n"
        "   … 7 more keys …\n"
        "   8 mat    0.25\n"
        "   sum      1.00\n");
  CHECK(markdown_of(table) ==
        "| key | weight |\n| --- | ---: |\n| 0 我 | 0.50 |\n| … 7 more keys … |  |\n"
        "| 8 mat | 0.25 |\n| sum | 1.00 |\n");
}

TEST_CASE("text that takes more than 80 columns is wrapped, words without spaces broken") {
  std::string chinese;
  for (int i = 0; i < 50; ++i) chinese += "我";
  const std::string text = text_of(Explanation::Paragraph{chinese});
  CHECK(text.find('\n') == 3 + 38 * 3);
  CHECK(attn::display_width(text.substr(0, text.find('\n'))) == 79);
}

TEST_CASE("nothing of a text is read as Markdown") {
  const auto paragraph = [](const std::string& text) {
    return markdown_of(Explanation::Paragraph{text});
  };
  CHECK(paragraph("a *b* _c_ d_k `e` <f> $g$ | h") ==
        "a \\*b\\* \\_c\\_ d_k \\`e\\` \\<f\\> \\$g\\$ \\| h\n");
  CHECK(paragraph("[link](there)") == "\\[link\\](there)\n");
  CHECK(paragraph("query [2,3]") == "query [2,3]\n");
  CHECK(paragraph("- no list") == "\\- no list\n");
  CHECK(paragraph("1. no list") == "1\\. no list\n");
}

TEST_CASE("text of a document is put into one line without control characters") {
  CHECK(attn::one_line("a\nb\tc") == "a b c");
  CHECK(attn::one_line("\x1b[31m") == "\\x1b[31m");
}

TEST_CASE("of few things all are shown, of many the first and the last") {
  CHECK(Excerpt(3, 3, 1, 1).indices() == Indices{0, 1, 2});
  CHECK(Excerpt(4, 3, 1, 1).indices() == Indices{0, 3});
  CHECK(Excerpt(4, 2, 2, 0).indices() == Indices{0, 1});
  CHECK(Excerpt(4, 2, 3, 3).indices() == Indices{0, 1, 2, 3});
  CHECK(Excerpt::all(2).indices() == Indices{0, 1});
  CHECK(Excerpt(0, 3, 1, 1).indices().empty());
}

TEST_CASE("what is left out is counted, around one that is shown in between too") {
  Excerpt excerpt(10, 5, 2, 1);
  CHECK(excerpt.skipped_before(2) == 7);
  excerpt.include(5);
  excerpt.include(0);
  CHECK(excerpt.indices() == Indices{0, 1, 5, 9});
  CHECK(excerpt.skipped_before(0) == 0);
  CHECK(excerpt.skipped_before(2) == 3);
  CHECK(excerpt.skipped_before(3) == 3);
  CHECK(excerpt.skipped_before(4) == 0);
  CHECK(Excerpt(4, 2, 2, 0).skipped_before(2) == 2);
}

TEST_CASE("a number with few decimals is shown as it is, any other with four") {
  CHECK(shown_number(2) == "2");
  CHECK(shown_number(-0.25) == "-0.25");
  CHECK(shown_number(0.1F) == "0.1");
  CHECK(shown_number(1.0 / 3) == "0.3333");
  CHECK(shown_number(0.50001) == "0.5000");
  CHECK(shown_number(999999) == "999999");
}

TEST_CASE("very large and very small numbers have an exponent, so that only 0 looks like 0") {
  CHECK(shown_number(0) == "0");
  CHECK(shown_number(-0.0) == "0");
  CHECK(shown_number(-1e9) == "-1e9");
  CHECK(shown_number(0.00012345) == "1.23e-04");
  CHECK(shown_number(0.0005) == "0.0005");
  CHECK(shown_number(1e-300) == "1.00e-300");
  CHECK(shown_number(1.7e308) == "1.7e308");
}

TEST_CASE("infinities and NaN have their names") {
  CHECK(shown_number(INFINITY) == "inf");
  CHECK(shown_number(-INFINITY) == "-inf");
  CHECK(shown_number(-NAN) == "nan");
}

TEST_CASE("the numbers of a column have as many decimals as the one that needs most") {
  using Texts = std::vector<std::string>;
  CHECK(shown_column(std::array{1.0, 2.0}) == Texts{"1", "2"});
  CHECK(shown_column(std::array{1.0, 2.25, 0.0}) == Texts{"1.00", "2.25", "0"});
  CHECK(shown_column(std::array{1.0, 1.0 / 3}) == Texts{"1.0000", "0.3333"});
  CHECK(shown_column(std::array<double, 3>{1.0, 1e-7, INFINITY}) == Texts{"1", "1.00e-07", "inf"});
}
