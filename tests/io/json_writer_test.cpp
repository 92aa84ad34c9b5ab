#include "io/json_writer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "io/json_tensor.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

template <class Write>
std::string written(Write write) {
  std::string text;
  JsonWriter writer([&](std::string_view piece) { text += piece; });
  write(writer);
  writer.finish();
  return text;
}

std::string written(const Tensor& tensor) {
  return written([&](JsonWriter& writer) { writer.value(tensor); });
}

Tensor read_back(const std::string& text, DType dtype) {
  return tensor_from_json(parse_json(text), dtype, "");
}

}  // namespace

TEST_CASE("objects and arrays are indented by two spaces") {
  const std::string text = written([](JsonWriter& writer) {
    writer.begin_object();
    writer.key("format");
    writer.value(std::int64_t{1});
    writer.key("shape");
    writer.value(Shape{2, 3, 4});
    writer.key("none");
    writer.null();
    writer.key("warnings");
    writer.begin_array();
    writer.value("one");
    writer.value(true);
    writer.begin_object();
    writer.end_object();
    writer.end_array();
    writer.key("empty");
    writer.begin_array();
    writer.end_array();
    writer.key("tensors");
    writer.begin_object();
    writer.key("output");
    writer.value(Tensor({2, 1, 2}, std::vector<float>{1, 2.5F, -0.0F, 0.1F}));
    writer.key("row");
    writer.value(Tensor({2}, std::vector<std::int64_t>{-7, 8}));
    writer.key("number");
    writer.value(Tensor({}, std::vector<double>{0.1}));
    writer.end_object();
    writer.end_object();
  });
  CHECK(text == R"({
  "format": 1,
  "shape": [2,3,4],
  "none": null,
  "warnings": [
    "one",
    true,
    {}
  ],
  "empty": [],
  "tensors": {
    "output": [
      [
        [1, 2.5]
      ],
      [
        [-0.0, 0.1]
      ]
    ],
    "row": [-7, 8],
    "number": 0.1
  }
}
)");
}

TEST_CASE("single numbers are written in their shortest form") {
  const auto of = [](auto number) {
    return written([&](JsonWriter& writer) { writer.value(number); });
  };
  CHECK(of(0.1) == "0.1\n");
  CHECK(of(0.1F) == "0.1\n");
  CHECK(of(static_cast<double>(0.1F)) == "0.10000000149011612\n");
  CHECK(of(1e300) == "1e+300\n");
  CHECK(of(3.0) == "3\n");
  CHECK(of(-0.0) == "-0.0\n");
  CHECK(of(std::numeric_limits<double>::infinity()) == "\"inf\"\n");
  CHECK(of(-std::numeric_limits<float>::infinity()) == "\"-inf\"\n");
  CHECK(of(std::nan("")) == "\"nan\"\n");
  CHECK(of(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808\n");
  CHECK(of(std::numeric_limits<std::size_t>::max()) == "18446744073709551615\n");
  CHECK(of(false) == "false\n");
}

TEST_CASE("strings are escaped, UTF-8 is passed through, other bytes are replaced") {
  CHECK(json_string("a\"b\\c/d") == R"("a\"b\\c/d")");
  CHECK(json_string("\n\t\r\b\x1f\x7f") == "\"\\n\\t\\r\\u0008\\u001f\\u007f\"");
  CHECK(json_string(std::string_view("\0", 1)) == "\"\\u0000\"");
  CHECK(json_string("größe 注意 🙂") == "\"größe 注意 🙂\"");
  CHECK(json_string("a\xff\xc3(") == "\"a\uFFFD\uFFFD(\"");
  CHECK(parse_json(json_string("\x01\"\\\n注")).string() == "\x01\"\\\n注");
}

TEST_CASE("booleans of a tensor are 0 and 1") {
  CHECK(written(Tensor({1, 2}, std::vector<std::uint8_t>{1, 0})) == "[\n  [1, 0]\n]\n");
}

TEST_CASE("infinities and NaN in a tensor are read back") {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor tensor({3}, std::vector<float>{infinity, -infinity, std::nanf("")});
  CHECK(written(tensor) == "[\"inf\", \"-inf\", \"nan\"]\n");
  const Tensor back = read_back(written(tensor), DType::float32);
  CHECK(back.values<float>()[0] == infinity);
  CHECK(back.values<float>()[1] == -infinity);
  CHECK(std::isnan(back.values<float>()[2]));
}

TEST_CASE("random floats of every size read back to the same bits") {
  std::mt19937 random(1);
  std::vector<float> elements{0.0F, -0.0F, 1e-45F, 1.17549435e-38F, 3.4028235e38F, 16777216.0F};
  while (elements.size() < 50000) {
    const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(number)) elements.push_back(number);
  }
  const Shape shape{100, elements.size() / 100};
  CHECK(tensor_is(read_back(written(Tensor(shape, elements)), DType::float32), shape, elements));
}

TEST_CASE("random doubles of every size read back to the same bits") {
  std::mt19937_64 random(2);
  std::vector<double> elements{0.0, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308};
  while (elements.size() < 50000) {
    const auto number = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    if (std::isfinite(number)) elements.push_back(number);
  }
  const Shape shape{elements.size()};
  CHECK(tensor_is(read_back(written(Tensor(shape, elements)), DType::float64), shape, elements));
}

TEST_CASE("a float whose shortest text readers would round twice is written longer") {
  const std::vector<float> elements{7.038531e-26F};
  CHECK(written(Tensor({1}, elements)) == "[7.038530691851209e-26]\n");
  CHECK(tensor_is(read_back(written(Tensor({1}, elements)), DType::float32), {1}, elements));
}

TEST_CASE("integers of 64 bits read back to the same number") {
  const std::vector<std::int64_t> elements{std::numeric_limits<std::int64_t>::min(), -1, 0,
                                           9007199254740993,
                                           std::numeric_limits<std::int64_t>::max()};
  CHECK(tensor_is(read_back(written(Tensor({5}, elements)), DType::int64), {5}, elements));
}

TEST_CASE("long texts reach the sink in pieces that join without a gap") {
  std::vector<std::int64_t> elements(100000);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::int64_t>(i);
  std::size_t pieces = 0, longest = 0;
  std::string text;
  JsonWriter writer([&](std::string_view piece) {
    ++pieces;
    longest = std::max(longest, piece.size());
    text += piece;
  });
  writer.begin_array();
  writer.value(Tensor({elements.size()}, elements));
  const std::string long_text(200000, 'x');
  writer.value(long_text);
  writer.value("last");
  writer.end_array();
  writer.finish();
  CHECK(pieces > 8);
  CHECK(longest <= 200002);
  const JsonValue value = parse_json(text);
  REQUIRE(value.size() == 3);
  CHECK(
      tensor_is(tensor_from_json(value.element(0), DType::int64, ""), {elements.size()}, elements));
  CHECK(value.element(1).string() == long_text);
  CHECK(value.element(2).string() == "last");
}

TEST_CASE("what is no JSON cannot be written") {
  const auto nothing = [](std::string_view) {};
  JsonWriter unfinished(nothing);
  unfinished.begin_array();
  CHECK_THROWS_WITH_AS(unfinished.finish(), "a JSON array or object was left open", Error);
  CHECK_THROWS_WITH_AS(unfinished.key("a"), "a JSON key where none is allowed", Error);
  CHECK_THROWS_WITH_AS(unfinished.end_object(), "JSON brackets do not match", Error);
  JsonWriter object(nothing);
  object.begin_object();
  CHECK_THROWS_WITH_AS(object.value(1.0), "a JSON member has no key", Error);
  object.key("a");
  CHECK_THROWS_WITH_AS(object.key("b"), "a JSON key where none is allowed", Error);
  CHECK_THROWS_WITH_AS(object.end_object(), "JSON brackets do not match", Error);
  CHECK_THROWS_WITH_AS(object.value(Tensor()), "an absent tensor was written as JSON", Error);
}

TEST_CASE("members that are objects and arrays close themselves") {
  const std::vector<int> layers{1, 2};
  const std::string text = json_text(
      [&](JsonWriter& json) {
        json.begin_object();
        json.object("model", [&] { json.member("width", std::size_t{8}); });
        json.array("lengths", layers, [&](int layer) { json.value(std::int64_t{layer}); });
        json.objects("layers", layers,
                     [&](int layer) { json.member("number", std::int64_t{layer}); });
        json.member("window", std::optional<double>());
        json.member("scale", std::optional(0.5));
        json.member("names", std::vector<std::string>{"a", "b"});
        json.end_object();
      },
      JsonLayout::line);
  CHECK(text ==
        R"({"model": {"width": 8}, "lengths": [1, 2], "layers": [{"number": 1}, {"number": 2}], )"
        R"("window": null, "scale": 0.5, "names": ["a", "b"]})"
        "\n");
}

TEST_CASE("control characters are escaped in strings, and read back the same") {
  const std::string text = std::string("\x1b\x7f\u009b\u00e9", 6) + std::string(1, '\0');
  CHECK(json_string(text) == "\"\\u001b\\u007f\\u009b\u00e9\\u0000\"");
  CHECK(parse_json(json_string(text)).string() == text);
}
