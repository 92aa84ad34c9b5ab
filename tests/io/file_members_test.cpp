#include "io/file_members.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "error_from.hpp"
#include "tensor_is.hpp"

namespace {

using namespace attn;

TensorFile json_file_of(const std::string& text) {
  const auto owner = std::make_shared<const std::string>(text);
  return TensorFile::from_memory(std::as_bytes(std::span(*owner)), owner, "maps.json");
}

}  // namespace

TEST_CASE("tensors in objects and arrays of JSON are named by their path") {
  const TensorFile file = json_file_of(
      R"({"attention":[{"name":null,"attn":[[[0.5,0.5],[0,1]]],"left_text":["a","b"]}],)"
      R"("layers":{"0":[[1]],"1":{"shape":[1,1],"data":[2]}},"model":"bert","empty":[]})");
  CHECK(file.names() == std::vector<std::string>{"attention.0.attn", "layers.0", "layers.1"});
  CHECK(tensor_is<double>(file.read("layers.1"), {1, 1}, {2}));
  REQUIRE(file.others().size() == 4);
  CHECK(file.others()[0].name == "attention.0.left_text");
  CHECK(file.others()[0].texts() == std::vector<std::vector<std::string>>{{"a", "b"}});
  CHECK(file.others()[1].name == "attention.0.name");
  CHECK(file.others()[2].name == "model");
  CHECK(file.others()[2].reason == "a string");
  CHECK(file.others()[3].reason == "an array");
}

TEST_CASE("arrays of matrices of several shapes are tensors of their own") {
  CHECK(json_file_of("[[[1,2],[3,4]],[[1]]]").names() == std::vector<std::string>{"0", "1"});
  CHECK(json_file_of("[[[1,2],[3,4]],[[1,2],[3,4]]]").names() == std::vector<std::string>{""});
  // Steps of layers of [B,H,Lq,Lk].
  CHECK(json_file_of("[[[[[[1]]]],[[[[1]]]]],[[[[[1,0]]]],[[[[1,0]]]]]]").names() ==
        std::vector<std::string>{"0.0", "0.1", "1.0", "1.1"});
  // A row of another length is a mistake, which is told as it is read.
  CHECK(error_from([] {
          json_file_of("[[1,2],[3]]").read("");
        }).starts_with("row 1 has 1 number, but the row before it has 2\n"));
}

TEST_CASE("Python's NaN and infinities are read, but not within strings or as other words") {
  const TensorFile file = json_file_of(R"({"NaN": [[NaN, -Infinity], [Infinity, 1e3]]})");
  const Tensor tensor = file.read("NaN");
  const auto numbers = tensor.values<double>();
  CHECK(std::isnan(numbers[0]));
  CHECK(numbers[1] == -std::numeric_limits<double>::infinity());
  CHECK(numbers[2] == std::numeric_limits<double>::infinity());
  CHECK(numbers[3] == 1000);
  CHECK(error_from([] { json_file_of("[[nan]]"); }).starts_with("not valid JSON: "));
}

TEST_CASE("texts are strings, or objects with a token") {
  const auto texts = [](const std::string& text) { return texts_of(parse_json(text)); };
  using Texts = std::vector<std::vector<std::string>>;
  CHECK(texts(R"(["a","b"])") == Texts{{"a", "b"}});
  CHECK(texts(R"([["a"],["b"]])") == Texts{{"a"}, {"b"}});
  CHECK(texts(R"([{"token":"a","id":1},{"token":"b","id":2}])") == Texts{{"a", "b"}});
  CHECK(texts(R"([["nan","inf"]])").empty());
  CHECK(texts(R"(["a",1])").empty());
  CHECK(texts(R"([])").empty());
}
