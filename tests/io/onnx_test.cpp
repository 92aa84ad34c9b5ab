#include "io/onnx.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

namespace attn {
namespace {

const std::string files = ATTN_TEST_DATA "/io/files/onnx/";

Onnx parse(const std::string& bytes) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return {std::as_bytes(std::span(*owner)), owner};
}

std::string refusal(const std::string& bytes) {
  return error_from([&] { parse(bytes); });
}

// A field of a message: its number, its type and, with a length, its content.
std::string field(int number, int type, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | type));
  if (type == 2) bytes += static_cast<char>(content.size());
  return bytes + content;
}

std::string tensor(const std::string& axes, int type, const std::string& numbers) {
  return field(1, 2, axes) + field(2, 0, std::string(1, static_cast<char>(type))) +
         field(8, 2, "w") + field(9, 2, numbers);
}

TEST_CASE(
    "initializers of an ONNX model and values of its constants are "
    "tensors by their names") {
  const TensorFile file = TensorFile::open(files + "model.onnx");
  CHECK(file.format() == "onnx");
  CHECK(file.names() == std::vector<std::string>{"made", "raw", "typed", "half", "half_typed",
                                                 "brain", "long", "small", "truths", "wide",
                                                 "double", "scalar"});
  const std::vector<float> quarters{-0.5F, -0.25F, 0, 0.25F, 0.5F, 0.75F};
  for (const char* name : {"raw", "typed", "half"}) {
    CAPTURE(name);
    CHECK(tensor_is<float>(file.read(name), {2, 3}, quarters));
  }
  CHECK(tensor_is<float>(file.read("half_typed"), {3}, {0.5F, -2, 65504}));
  CHECK(tensor_is<float>(file.read("brain"), {2}, {1.5F, -3}));
  CHECK(tensor_is<std::int64_t>(file.read("long"), {2}, {-7, std::int64_t{1} << 40}));
  CHECK(tensor_is<std::int64_t>(file.read("small"), {3}, {-128, 0, 127}));
  CHECK(tensor_is<std::uint8_t>(file.read("truths"), {2}, {1, 0}));
  CHECK(tensor_is<std::int64_t>(file.read("wide"), {1}, {INT64_MAX}));
  CHECK(tensor_is<double>(file.read("double"), {2}, {0.1, -1e300}));
  CHECK(tensor_is<float>(file.read("scalar"), {}, {3.5F}));
  CHECK(tensor_is<std::int64_t>(file.read("made"), {2}, {1, 2}));
  REQUIRE(file.others().size() == 3);
  CHECK(file.others()[0].reason == "numbers of the type string, which are not read");
  CHECK(file.others()[2].reason ==
        "numbers in another file: save the model with its data in one file");
}

TEST_CASE("a file of one ONNX tensor is that tensor") {
  const TensorFile named = TensorFile::open(files + "input_0.pb");
  CHECK(named.names() == std::vector<std::string>{"query"});
  CHECK(named.read("query").shape() == Shape{2, 3});
  CHECK(tensor_is<float>(TensorFile::open(files + "unnamed.pb").read("tensor"), {2}, {1, 2}));
}

TEST_CASE("damaged ONNX files are refused") {
  const std::string help = "\n  help:  export the model again";
  const std::string whole = read_text(files + "model.onnx");
  CHECK(refusal(whole.substr(0, whole.size() - 20)) == "the file is damaged or cut off" + help);
  const std::string four("\0\0\x80\x3F", 4);
  CHECK(tensor_is<float>(parse(tensor("\1", 1, four)).read(0), {1}, {1}));
  CHECK(refusal(tensor("\2", 1, four)) ==
        "4 bytes of numbers do not fit [2] of the type float32\n  where: "
        "tensor \"w\"" +
            help);
  // An axis of −1.
  CHECK(refusal(tensor("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 1, four)) ==
        "an axis has the size -1\n  where: tensor \"w\"" + help);
  const std::string far = "\x80\x80\x80\x80\x80\x80\x80\x80\x40";
  CHECK(refusal(tensor(far + far, 1, four)).starts_with("4 bytes of numbers do not fit ["));
  const std::string twice = field(5, 2, tensor("\1", 1, four)) + field(5, 2, tensor("\1", 1, four));
  CHECK(refusal(field(1, 0, "\7") + field(7, 2, twice)) ==
        "the tensor \"w\" is there twice\n  where: tensor \"w\"" + help);
}

}  // namespace
}  // namespace attn
