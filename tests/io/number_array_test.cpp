#include "io/number_array.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

std::string shapes_in(std::string_view text) {
  std::string result;
  for (const NumberArray& array : find_number_arrays(text)) {
    result += std::string(array.text) + " " + attn::text(array.shape) + "\n";
  }
  return result;
}

NumberArrayContent content_of(std::string_view text, DType dtype = DType::float32) {
  const auto arrays = find_number_arrays(text);
  REQUIRE(arrays.size() == 1);
  return read_number_array(arrays[0], dtype, 1);
}

// Outcome of parse_json() without blocks, and with them.
std::string outcome(const std::string& text, bool by_element) {
  try {
    if (by_element) {
      parse_json_by_element(text, JsonOptions().depth);
    } else {
      parse_json(text);
    }
    return "valid";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("arrays of numbers are found with their shapes, whatever stands around them") {
  CHECK(shapes_in("[1, 2.5]") == "[1, 2.5] [2]\n");
  CHECK(shapes_in(R"({"a": [[1,2],[3,4],[5,6]], "b": "[7]", "c": [[[8]]]})") ==
        "[[1,2],[3,4],[5,6]] [3,2]\n[[[8]]] [1,1,1]\n");
  CHECK(shapes_in("[ [ 1 , 2 ] ,\r\n\t[ 3 , 4 ] ]") == "[ [ 1 , 2 ] ,\r\n\t[ 3 , 4 ] ] [2,2]\n");
  CHECK(shapes_in(R"({"a\"[1]": [1], "b\\": [2]})") == "[1] [1]\n[2] [1]\n");
  CHECK(shapes_in(R"(["inf", true, "-inf", false, "nan", 0])") ==
        "[\"inf\", true, \"-inf\", false, \"nan\", 0] [6]\n");
  CHECK(shapes_in("[{\"a\": [1]}, {\"a\": [2, 3]}]") == "[1] [1]\n[2, 3] [2]\n");
}

TEST_CASE("arrays that are no tensors are not found, but those inside them may be") {
  for (const char* none : {"", "[", "[]", "[[]]", "[1", "[[1],[2]", "[\"a\"]", "[null]",
                           "{\"a\": 1}", "[infinity]", "\"[1]\"", "[1, [", "1, 2"}) {
    CAPTURE(none);
    CHECK(shapes_in(none).empty());
  }
  CHECK(shapes_in("[1, [2]]") == "[2] [1]\n");
  CHECK(shapes_in("[[1], 2]").empty());
  CHECK(shapes_in("[[1], [2, 3]]").empty());
  const std::string row = "[" + std::string(300, '1') + "]";
  CHECK(shapes_in("[" + row + ", [2, 3]]") == row + " [1]\n");
  CHECK(shapes_in("[[" + row + "], \"a\"]") == "[" + row + "] [1,1]\n");
}

TEST_CASE("more axes than a tensor has are no number array") {
  const auto nested = [](std::size_t axes) {
    return std::string(axes, '[') + "1" + std::string(axes, ']');
  };
  CHECK(find_number_arrays(nested(32)).size() == 1);
  CHECK(find_number_arrays(nested(33)).size() <= 1);
  CHECK(parse_json(nested(100)).is(JsonValue::Type::array));
}

TEST_CASE("elements are read as each type, or not at all") {
  CHECK(
      tensor_is<float>(content_of("[[0.1, -2], [3e1, 1e-60]]").tensor, {2, 2}, {0.1F, -2, 30, 0}));
  CHECK(tensor_is<double>(content_of("[0.1, 1e300]", DType::float64).tensor, {2}, {0.1, 1e300}));
  CHECK(tensor_is<std::int64_t>(content_of("[3, -4.0, 5e1, true]", DType::int64).tensor, {4},
                                {3, -4, 50, 1}));
  CHECK(tensor_is<std::uint8_t>(content_of("[true, 0, 1.0, false]", DType::boolean).tensor, {4},
                                {1, 0, 1, 0}));
  for (const char* other : {"[0.5]", "[\"nan\"]", "[1e19]"}) {
    CAPTURE(other);
    CHECK(content_of(other, DType::int64).valid);
    CHECK_FALSE(content_of(other, DType::int64).tensor);
  }
  CHECK_FALSE(content_of("[2]", DType::boolean).tensor);
  CHECK(content_of("[1e39]").valid);
  CHECK_FALSE(content_of("[1e39]").tensor);
  CHECK(content_of("[1234567890123456]").valid);
  CHECK_FALSE(content_of("[1234567890123456]").tensor);
  CHECK_FALSE(content_of("[" + std::string(310, '1') + "]").valid);
}

namespace {

std::string digits(std::mt19937& random, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += static_cast<char>('0' + random() % 10);
  return result;
}

// A number in one of the forms that JSON has.
std::string random_number(std::mt19937& random) {
  std::string text = random() % 2 == 0 ? "-" : "";
  std::string integer = digits(random, random() % 4 == 0 ? random() % 16 : 1);
  integer.erase(0, std::min(integer.find_first_not_of('0'), integer.size()));
  text += integer.empty() ? "0" : integer;
  const bool point = random() % 8 != 0;
  if (point) text += "." + digits(random, 1 + random() % (random() % 8 == 0 ? 60 : 18));
  if (random() % 3 == 0 || !point) {
    text += random() % 2 == 0 ? 'e' : 'E';
    text += std::array<const char*, 3>{"", "+", "-"}[random() % 3];
    text += std::to_string(random() % (random() % 4 == 0 ? 300 : 30));
  }
  return text;
}

}  // namespace

TEST_CASE("numbers of all forms are read to the bit that the C library gives") {
  std::mt19937 random(20261121);
  for (int i = 0; i < 100000; ++i) {
    const std::string number = random_number(random);
    CAPTURE(number);
    const float narrow = std::strtof(number.c_str(), nullptr);
    const double wide = std::strtod(number.c_str(), nullptr);
    if (!std::isinf(narrow)) {
      REQUIRE(tensor_is<float>(content_of("[" + number + "]").tensor, {1}, {narrow}));
    }
    if (!std::isinf(wide)) {
      REQUIRE(
          tensor_is<double>(content_of("[" + number + "]", DType::float64).tensor, {1}, {wide}));
    }
  }
  CHECK(tensor_is<float>(content_of("[-0, -0.0]").tensor, {2}, {0, -0.0F}));
}

TEST_CASE("a float is the nearest to the number, not to the double nearest to it") {
  // All of these are, as doubles, half-way between two floats.
  CHECK(tensor_is<float>(content_of("[7.038531e-26, 1.00000005960464477539062500001, "
                                    "1.000000059604644775390625, 1.00000005960464477539062499999]")
                             .tensor,
                         {4}, {7.038531e-26F, 0x1.000002p0F, 1, 1}));
}

TEST_CASE("what is no array of JSON numbers is an error as it is without blocks") {
  for (const char* broken :
       {"[1,]",   "[,1]",    "[1,,2]",  "[1 2]",      "[01]",        "[1.]",  "[-]",
        "[+1]",   "[.5]",    "[1e]",    "[1e+]",      "[1.e5]",      "[-01]", "[00]",
        "[--1]",  "[-.5]",   "[-true]", "[e]",        "[1/2]",       "[1]]",  "[[1][2]]",
        "[[1],]", "[1e400]", "[1true]", "[\"inf\"1]", "[true false]"}) {
    CAPTURE(broken);
    CHECK(outcome(broken, false) == outcome(broken, true));
    CHECK(outcome(broken, false) != "valid");
  }
}

TEST_CASE("long arrays are read in parts, the same on any number of threads") {
  std::mt19937 random(3);
  for (const std::size_t columns : {1UL, 7UL, 28000UL, 168000UL}) {
    CAPTURE(columns);
    const std::size_t rows = 168000 / columns;
    std::string text = "[";
    std::vector<float> expected;
    for (std::size_t i = 0; i < rows; ++i) {
      text += i > 0 ? ",\n  [" : "[";
      for (std::size_t j = 0; j < columns; ++j) {
        expected.push_back(static_cast<float>(random() % 100000) / 64);
        char number[32];
        if (j > 0) text += ", ";
        text.append(number, std::to_chars(number, number + 32, expected.back()).ptr);
      }
      text += "]";
    }
    text += "]";
    const auto arrays = find_number_arrays(text);
    REQUIRE(arrays.size() == 1);
    CHECK(arrays[0].marks.size() >= 5);
    for (const std::size_t threads : {1UL, 3UL}) {
      const Tensor tensor = read_number_array(arrays[0], DType::float32, threads).tensor;
      REQUIRE(tensor);
      CHECK(tensor.shape() == Shape{rows, columns});
      const auto values = tensor.values<float>();
      CHECK(std::equal(values.begin(), values.end(), expected.begin(), expected.end()));
    }
    // Anything that is left out or added anywhere makes it another text.
    for (int i = 0; i < (columns == 7 ? 15 : 3); ++i) {
      std::string other = text;
      const std::size_t at = random() % other.size();
      if (i % 3 == 0) {
        other.erase(at, 1);
      } else if (i % 3 == 1) {
        other.insert(at, 1, ",[]1. -"[random() % 7]);
      } else {
        other[at] = ",[]1. -e"[random() % 8];
      }
      CAPTURE(other.substr(at < 20 ? 0 : at - 20, 40));
      const auto [whole, by_element] = std::pair(outcome(other, false), outcome(other, true));
      CHECK(whole == by_element);
    }
  }
}

TEST_CASE("broken texts get the errors that they get without blocks") {
  std::mt19937 random(11);
  const std::string text =
      R"({"query": [[0.5, -1e3, 25], [1, 2, "inf"]], "labels": ["a[1]", "\"b\ud83d\ude42é"], )"
      R"("mask": [true, false, null], "n": 12, "deep": [[[[1.25]]], {"x": [1, 2, 3]}]})";
  const std::string characters = "[]{},:\"\\ 0123456789.-+eEtfn\n\0\x80";
  for (int i = 0; i < 20000; ++i) {
    std::string other = text;
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % other.size();
      const char c = characters[random() % characters.size()];
      switch (random() % 3) {
        case 0:
          other.erase(at, 1 + random() % 3);
          break;
        case 1:
          other.insert(at, 1, c);
          break;
        default:
          other[at] = c;
      }
    }
    CAPTURE(other);
    const std::string error = outcome(other, true);
    REQUIRE(outcome(other, false) == error);
    // A text that the parser refuses has a fault that is found in it.
    REQUIRE(error != "a text was refused that is JSON");
  }
}
