#include "io/text_matrices.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "tensor_is.hpp"

namespace attn {
namespace {

TextMatrices parse_text(const std::string& text) {
  const auto owner = std::make_shared<const std::string>(text);
  const auto bytes = std::as_bytes(std::span(*owner));
  CHECK(looks_like_text_matrix(bytes));
  return {bytes, owner};
}

std::vector<std::string> texts_in(const TextMatrices& matrices, const std::string& name) {
  for (const OtherMember& other : matrices.others()) {
    if (other.name == name) return other.texts().at(0);
  }
  return {};
}

bool is_square(const TextMatrices& matrices) {
  return tensor_is<double>(matrices.read(0), {2, 2}, {0.25, 0.75, 1, 0});
}

const std::vector<std::string> a_b{"a", "b"}, x_y{"x", "y"}, none;

}  // namespace

TEST_CASE("numbers are read whatever separates them") {
  for (const char* text :
       {"0.25,0.75\n1,0\n", "0.25\t0.75\r\n1\t0", "0.25 0.75\n  1   0  \n", "0,25;0,75\n1;0\n",
        "\xEF\xBB\xBF# made by a program\n0.25, 0.75\n1, 0\n\n", "+2.5e-1,0.75,\n1,0,\n"}) {
    CAPTURE(text);
    const TextMatrices matrices = parse_text(text);
    CHECK(matrices.names() == std::vector<std::string>{""});
    CHECK(is_square(matrices));
    CHECK(matrices.others().empty());
  }
  CHECK(tensor_is<double>(parse_text("0.5\n0.25\n").read(0), {2, 1}, {0.5, 0.25}));
}

TEST_CASE("a first row and a first column of words are labels") {
  struct Case {
    const char* text;
    std::vector<std::string> rows, columns;
  };
  const std::vector<Case> cases{
      {"a,b\n0.25,0.75\n1,0\n", none, a_b},
      {",a,b\nx,0.25,0.75\ny,1,0\n", x_y, a_b},
      {"token,a,b\nx,0.25,0.75\ny,1,0\n", x_y, a_b},
      {"x\t0.25\t0.75\ny\t1\t0\n", x_y, none},
      {"\"a\" \"b\"\n\"x\" 0.25 0.75\n\"y\" 1 0\n", x_y, a_b},
      {"# a b\n0.25 0.75\n1 0\n", none, a_b},
      {",0,1\n0,0.25,0.75\n1,1,0\n", {"0", "1"}, {"0", "1"}},
      {"\",\",0.25,0.75\n\"\"\"\",1,0\n", {",", "\""}, none},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    const TextMatrices matrices = parse_text(one.text);
    CHECK(is_square(matrices));
    CHECK(texts_in(matrices, "0.rows") == one.rows);
    CHECK(texts_in(matrices, "0.columns") == one.columns);
  }
  // Columns that a program counted.
  CHECK(tensor_is<double>(parse_text("0,1,2\n0.25,0.75,0\n").read(0), {1, 3}, {0.25, 0.75, 0}));
}

TEST_CASE("cells without a number are NaN, and infinities are read") {
  const TextMatrices matrices = parse_text("0.5,,nan\ninf,-inf,NA\n");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto numbers = matrices.read(0).values<double>();
  CHECK(std::isnan(numbers[1]));
  CHECK(std::isnan(numbers[2]));
  CHECK(numbers[3] == infinity);
  CHECK(numbers[4] == -infinity);
  CHECK(std::isnan(numbers[5]));
}

TEST_CASE("matrices have empty lines between them") {
  const TextMatrices matrices = parse_text("0.25 0.75\n1 0\n\n\n0.5 0.5 0\n");
  CHECK(matrices.names() == std::vector<std::string>{"0.weights", "1.weights"});
  CHECK(tensor_is<double>(matrices.read(1), {1, 3}, {0.5, 0.5, 0}));
}

TEST_CASE("alignments of Nematus have a row for each target word and its end") {
  const TextMatrices matrices = parse_text(
      "7 ||| das Haus ||| 0 ||| the house ||| 3 3\n0.5 0.3 0.2\n0.1 0.8 0.1\n0 0.1 0.9\n\n"
      "8 ||| ja ||| 0 ||| yes ||| 1 1\n1\n\n");
  CHECK(matrices.names() == std::vector<std::string>{"7.weights", "8.weights"});
  CHECK(tensor_is<double>(matrices.read(0), {3, 3}, {0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0, 0.1, 0.9}));
  CHECK(texts_in(matrices, "7.rows") == std::vector<std::string>{"das", "Haus", "</s>"});
  CHECK(texts_in(matrices, "7.columns") == std::vector<std::string>{"the", "house", "</s>"});
  CHECK(texts_in(matrices, "8.rows") == std::vector<std::string>{"ja"});
}

TEST_CASE("soft alignments of Marian are a line each, also in lists of the best") {
  const TextMatrices lines =
      parse_text("das Haus ||| 0.5,0.5 0.1,0.9 0,1\nja ||| 0.5,0.5 0.1,0.9\n");
  CHECK(lines.names() == std::vector<std::string>{"0.weights", "1.weights"});
  CHECK(tensor_is<double>(lines.read(0), {3, 2}, {0.5, 0.5, 0.1, 0.9, 0, 1}));
  CHECK(texts_in(lines, "0.rows") == std::vector<std::string>{"das", "Haus", "</s>"});
  const TextMatrices best = parse_text(
      "0 ||| ja ||| 0.5,0.5 0.1,0.9 ||| F0= -0.3 ||| -0.3\n0 ||| jo ||| 0.5,0.5 0.1,0.9 "
      "||| F0= -0.4 ||| -0.4\n");
  CHECK(best.names() == std::vector<std::string>{"0.weights", "0-1.weights"});
  CHECK(texts_in(best, "0.rows") == std::vector<std::string>{"ja", "</s>"});
}

TEST_CASE("a text that is no matrix is refused with its line") {
  const std::string rows = "\n  help:  give all rows one length, and empty lines between matrices";
  CHECK(error_from([] { parse_text("0.1,0.9\n0.2\n"); }) ==
        "a row has 1 number, but the first has 2\n  where: line 2" + rows);
  CHECK(error_from([] { parse_text("0.1,0.9\n0.2,x\n"); }) ==
        "\"x\" is not a number\n  where: line 2\n"
        "  help:  labels stand in the first row and the first column");
  const auto looks = [](const std::string& text) {
    return looks_like_text_matrix(std::as_bytes(std::span(text)));
  };
  CHECK_FALSE(looks("the cat sat\non the mat\n"));
  CHECK_FALSE(looks("version https://git-lfs\noid 1\n"));
  CHECK_FALSE(looks(std::string("1 2\0", 4)));
  Limits limits;
  limits.elements = 3;
  const std::string four = "1 2\n3 4\n";
  CHECK(error_from([&] { TextMatrices(std::as_bytes(std::span(four)), nullptr, limits); }) ==
        "the tensor has 4 elements, and the limit is 3\n"
        "  help:  make it smaller, or raise the limit with Limits::elements");
}

TEST_CASE("a column that counts rows of weights is their labels") {
  for (const char* text : {"0,0.25,0.75\n1,1,0\n", ",a,b\n0,0.25,0.75\n1,1,0\n"}) {
    CAPTURE(text);
    const TextMatrices matrices = parse_text(text);
    CHECK(is_square(matrices));
    CHECK(texts_in(matrices, "0.rows") == std::vector<std::string>{"0", "1"});
  }
  // Numbers that happen to count are numbers where the others do not sum to 1.
  CHECK(tensor_is<double>(parse_text("0,3,4\n1,5,6\n").read(0), {2, 3}, {0, 3, 4, 1, 5, 6}));
}

TEST_CASE("a table of queries, keys and weights is the map that it lists") {
  CHECK(is_square(parse_text("query,key,weight\n0,0,0.25\n0,1,0.75\n1,0,1\n")));
}

TEST_CASE("a first row of numbers that is one short is no row of labels") {
  CHECK(error_from([] { parse_text("0.1,0.9\n0.2,0.3,0.5\n"); }) ==
        "a row has 3 numbers, but the first has 2\n  where: line 2\n"
        "  help:  give all rows one length, and empty lines between matrices");
}

}  // namespace attn
