#include "io/json_tensor.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

Tensor read(const std::string& text, DType dtype = DType::float32) {
  return tensor_from_json(parse_json(text), dtype, "/query");
}

Tensor read_flat(const std::string& shape, const std::string& data, DType dtype = DType::float32) {
  return read(R"({"shape": )" + shape + R"(, "data": )" + data + "}", dtype);
}

std::string error_in(const std::string& text, DType dtype = DType::float32) {
  return error_from([&] { read(text, dtype); });
}

constexpr const char* same_length = "\n  help:  give all rows of a tensor the same length";
constexpr const char* equally_deep = "\n  help:  nest all parts of a tensor equally deep";

}  // namespace

TEST_CASE("nested arrays of numbers are a tensor") {
  CHECK(tensor_is<float>(read("[1, 2.5, -3]"), {3}, {1, 2.5F, -3}));
  CHECK(tensor_is<double>(read("[[0.1, 2], [3, 4], [5, 6]]", DType::float64), {3, 2},
                          {0.1, 2, 3, 4, 5, 6}));
  CHECK(tensor_is<float>(read("[[[[1], [2]], [[3], [4]]]]"), {1, 2, 2, 1}, {1, 2, 3, 4}));
  CHECK(tensor_is<float>(read("[[7]]"), {1, 1}, {7}));
}

TEST_CASE("strings stand for infinities and NaN, booleans for 1 and 0") {
  CHECK(tensor_is<float>(read(R"([["inf", "-inf"], [true, false]])"), {2, 2},
                         {infinity, -infinity, 1, 0}));
  const Tensor tensor = read(R"(["nan", 1])", DType::float64);
  CHECK(std::isnan(tensor.values<double>()[0]));
  CHECK(tensor.values<double>()[1] == 1);
}

TEST_CASE("the sign of zero and the smallest numbers are kept") {
  CHECK(tensor_is<float>(read("[-0.0, 1e-45, 1e-60, -1e-60]"), {4},
                         {-0.0F, std::numeric_limits<float>::denorm_min(), 0.0F, -0.0F}));
  CHECK(tensor_is<double>(read("[-0.0, 5e-324]", DType::float64), {2}, {-0.0, 5e-324}));
}

TEST_CASE("float32 rounds to nearest, up to its largest number") {
  CHECK(tensor_is<float>(read("[0.1, 16777217, 3.4028235e38, 3.40282356e38]"), {4},
                         {0.1F, 16777216, 3.4028235e38F, 3.4028235e38F}));
}

TEST_CASE(
    "texts on, and beside, the middle of two floats are rounded as the standard library does") {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> exponent(-4, 7);
  std::string all = "[";
  std::vector<float> expected;
  for (int i = 0; i < 20000; ++i) {
    const float number = std::pow(10.0F, exponent(random));
    const double middle = (static_cast<double>(number) + std::nextafter(number, 1e9F)) / 2;
    std::array<char, 64> text;
    const int places = static_cast<int>(random() % 19) + 1;
    const auto end = std::to_chars(text.begin(), text.end(), i % 2 == 0 ? middle : -middle,
                                   std::chars_format::fixed, places)
                         .ptr;
    all.append(text.data(), end);
    all += i % 3 == 0 ? " ,\n" : ",";
    float nearest = 0;
    std::from_chars(text.data(), end, nearest);
    expected.push_back(nearest);
  }
  all.back() = ']';
  CHECK(tensor_is<float>(read(all), {expected.size()}, expected));
}

TEST_CASE("integers of 64 bits are kept in int64") {
  CHECK(tensor_is<std::int64_t>(
      read("[9223372036854775807, -9223372036854775808, 2.0, true]", DType::int64), {4},
      {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 2, 1}));
  CHECK(tensor_is<std::int64_t>(read("[3, -4]", DType::int64), {2}, {3, -4}));
}

TEST_CASE("whole numbers may be written with a point or an exponent") {
  CHECK(tensor_is<std::int64_t>(read("[true, 2.0, 1e3, -1.5e1, 0.0]", DType::int64), {5},
                                {1, 2, 1000, -15, 0}));
  CHECK(tensor_is<std::uint8_t>(read("[true, 1.0, 0.0, 1e0, -0.0]", DType::boolean), {5},
                                {1, 1, 0, 1, 0}));
}

TEST_CASE("a boolean tensor takes true, false, 1 and 0") {
  CHECK(tensor_is<std::uint8_t>(read("[[true, false], [1, 0]]", DType::boolean), {2, 2},
                                {1, 0, 1, 0}));
  CHECK(tensor_is<std::uint8_t>(read("[1, 0]", DType::boolean), {2}, {1, 0}));
}

TEST_CASE("the first row of another length is an error") {
  CHECK(error_in("[[1,2,3,4],[1,2,3,4],[1,2,3]]") ==
        std::string("row 2 has 3 numbers, but the rows before it have 4\n  where: /query/2") +
            same_length);
  CHECK(error_in("[[1,2],[1]]") ==
        std::string("row 1 has 1 number, but the row before it has 2\n  where: /query/1") +
            same_length);
  CHECK(error_in("[[[1,2],[1,2]],[[1,2,3],[1,2]]]") ==
        std::string("row 0 has 3 numbers, but the rows before it have 2\n  where: /query/1/0") +
            same_length);
  CHECK(error_in("[[[1],[2]],[[1]]]") ==
        std::string("matrix 1 has 1 row, but the matrix before it has 2\n  where: /query/1") +
            same_length);
  CHECK(error_in("[[[[1]]],[[[1]],[[2]]]]") ==
        std::string("block 1 has 2 matrices, but the block before it has 1\n  where: /query/1") +
            same_length);
  CHECK(error_in("[[[[1,2],[1]]]]") ==
        std::string("row 1 has 1 number, but the row before it has 2\n  where: /query/0/0/1") +
            same_length);
  CHECK(error_in("[[[[1],[2]]],[[[3],[4,5]]]]") ==
        std::string("row 1 has 2 numbers, but the rows before it have 1\n"
                    "  where: /query/1/0/1") +
            same_length);
  CHECK(error_in("[[[[1]],[[2]]],[[[3],[4]],[[5]]]]") ==
        std::string("matrix 0 has 2 rows, but the matrices before it have 1\n"
                    "  where: /query/1/0") +
            same_length);
  CHECK(error_in("[[\"inf\",2],[1,true,3]]") ==
        std::string("row 1 has 3 numbers, but the row before it has 2\n  where: /query/1") +
            same_length);
}

TEST_CASE("parts nested unequally deep are an error") {
  CHECK(error_in("[[1,2],3]") ==
        std::string("expected a row of 2 numbers, found the number 3\n  where: /query/1") +
            equally_deep);
  CHECK(error_in("[1,[2]]") ==
        std::string("expected a number, found an array\n  where: /query/1") + equally_deep);
  CHECK(error_in("[[[1],[2]],[3,4,5]]") ==
        std::string("expected a row of 1 number, found the number 3\n  where: /query/1/0") +
            equally_deep);
  CHECK(error_in("[[1,2],[[3],4]]") ==
        std::string("expected a number, found an array\n  where: /query/1/0") + equally_deep);
  CHECK(error_in("[[1,2],\"x\"]") ==
        std::string("expected a row of 2 numbers, found the string \"x\"\n  where: /query/1") +
            equally_deep);
}

TEST_CASE("an empty array is an error") {
  const std::string help = "\n  help:  write at least one number into it, or leave it out";
  const std::string empty = "an array is empty: no axis of a tensor may have the size 0";
  CHECK(error_in("[]") == empty + "\n  where: /query" + help);
  CHECK(error_in("[[],[1]]") == empty + "\n  where: /query/0" + help);
  CHECK(error_in("[[1],[]]") == empty + "\n  where: /query/1" + help);
}

TEST_CASE("what is no number is an error that names it") {
  const std::string floats =
      "\n  help:  numbers, true, false, \"inf\", \"-inf\" and \"nan\" are allowed in a tensor";
  CHECK(error_in("[1, \"NaN\"]") ==
        "expected a number, found the string \"NaN\"\n  where: /query/1" + floats);
  CHECK(error_in("[[1], [null]]") == "expected a number, found null\n  where: /query/1/0" + floats);
  CHECK(error_in("[{}]") == "expected a number, found an object\n  where: /query/0" + floats);
  CHECK(error_in("[1, \"inf\"]", DType::int64) ==
        "expected a number, found the string \"inf\"\n  where: /query/1\n  help:  only integers "
        "are allowed here");
  CHECK(error_in("[true, \"nan\"]", DType::boolean) ==
        "expected a number, found the string \"nan\"\n  where: /query/1\n  help:  only true, "
        "false, 1 and 0 are allowed here");
}

TEST_CASE("a value that is no array is not a tensor") {
  const std::string help = "\n  help:  give nested arrays of numbers, such as [[1,2],[3,4]]";
  CHECK(error_in("1.5") ==
        "the number 1.5 is not a tensor\n  where: /query\n"
        "  help:  give an array of numbers, one for each that is meant, such as [0.5,0.5]");
  CHECK(error_in("1", DType::boolean) ==
        "the number 1 is not a tensor\n  where: /query\n"
        "  help:  give one truth for each key, such as [[false,true]]");
  CHECK(error_in("\"a\"") == "the string \"a\" is not a tensor\n  where: /query" + help);
  CHECK(error_in("{}") == "an object is not a tensor\n  where: /query" + help);
  CHECK(error_in("\"see a.npy\"") ==
        "the string \"see a.npy\" is not a tensor\n  where: /query" + help);
  CHECK(error_in("\"a.npy\"") == "the string \"a.npy\" is not a tensor\n  where: /query" + help +
                                     ", or a file, {\"file\": …}");
}

TEST_CASE("a number beyond the dtype's range is an error that names both") {
  CHECK(error_in("[[1, 2], [3, 1e39]]") ==
        "the number 1e+39 is beyond the range of float32\n  where: /query/1/1\n"
        "  help:  use the dtype \"float64\", or write \"inf\" and \"-inf\" for infinities");
  CHECK(error_in("[true, -3.5e38]") ==
        "the number -3.5e+38 is beyond the range of float32\n  where: /query/1\n"
        "  help:  use the dtype \"float64\", or write \"inf\" and \"-inf\" for infinities");
  CHECK(error_in("[1, 9223372036854775808]", DType::int64) ==
        "the number 9223372036854775808 is beyond the range of int64\n  where: /query/1\n"
        "  help:  only integers are allowed here");
  CHECK(error_in("[1, 2.5]", DType::int64) ==
        "the number 2.5 is not an integer\n  where: /query/1\n"
        "  help:  only integers are allowed here");
  CHECK(error_in("[true, 2]", DType::boolean) ==
        "the number 2 is neither true nor false\n  where: /query/1\n"
        "  help:  only true, false, 1 and 0 are allowed here");
}

TEST_CASE("a tensor has 32 axes at most") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + "1" + std::string(depth, ']');
  };
  CHECK(read(nested(32)).rank() == 32);
  CHECK(error_in(nested(33)) == "the tensor has more than 32 axes\n  where: /query");
  CHECK(error_in(nested(500)) == "the tensor has more than 32 axes\n  where: /query");
}

TEST_CASE("a ragged array cannot claim more memory than its text holds") {
  std::string row = "1", rows = "[1]";
  for (int i = 0; i < 100000; ++i) row += ",1";
  for (int i = 0; i < 100000; ++i) rows += ",[1]";
  CHECK(error_in("[[" + row + "]," + rows + "]").starts_with("row 1 has 1 number, but the row"));
}

TEST_CASE("a flat array takes the shape beside it") {
  CHECK(tensor_is<float>(read_flat("[2, 3]", "[1, 2, 3, 4, 5, 6]"), {2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(tensor_is<float>(read_flat("[2, 1]", R"(["inf", true])"), {2, 1}, {infinity, 1}));
  CHECK(tensor_is<std::uint8_t>(read_flat("[1, 2]", "[true, false]", DType::boolean), {1, 2},
                                {1, 0}));
  CHECK(tensor_is<double>(read_flat("[]", "[5]", DType::float64), {}, {5}));
}

TEST_CASE("a flat array of another size than its shape's is an error") {
  const auto error = [](const char* shape, const char* data) {
    return error_from([&] { read_flat(shape, data); });
  };
  CHECK(error("[2, 3]", "[1, 2, 3, 4, 5]") ==
        "the shape [2,3] takes 6 numbers, but there are 5\n  where: /query/data\n"
        "  help:  make the product of the sizes equal to the number of elements");
  CHECK(error("[1]", "[1, 2]") ==
        "the shape [1] takes 1 number, but there are 2\n  where: /query/data\n"
        "  help:  make the product of the sizes equal to the number of elements");
  CHECK(error("[2, 3]", "[]") ==
        "the shape [2,3] takes 6 numbers, but there are 0\n  where: /query/data\n"
        "  help:  make the product of the sizes equal to the number of elements");
  CHECK(error("[2]", "[1, [2]]") ==
        std::string("expected a number, found an array\n  where: /query/data/1") + equally_deep);
  CHECK(error("[2]", "[1, 1e39]") ==
        "the number 1e+39 is beyond the range of float32\n  where: /query/data/1\n"
        "  help:  use the dtype \"float64\", or write \"inf\" and \"-inf\" for infinities");
  CHECK(error("[2]", "\"ab\"") ==
        "expected a flat array of numbers, found the string \"ab\"\n  where: /query/data");
}

TEST_CASE("a shape is an array of integers from 1") {
  const auto error = [](const std::string& shape) {
    return error_from([&] { shape_from_json(parse_json(shape), "/zeros"); });
  };
  const std::string help = "\n  help:  give whole numbers from 1 to 2^53";
  CHECK(shape_from_json(parse_json("[2, 3.0]"), "") == Shape{2, 3});
  CHECK(shape_from_json(parse_json("[9007199254740992]"), "") == Shape{9007199254740992});
  CHECK(shape_from_json(parse_json("[]"), "").empty());
  CHECK(error("[2, 0]") == "the number 0 is not a size\n  where: /zeros/1" + help);
  CHECK(error("[-1]") == "the number -1 is not a size\n  where: /zeros/0" + help);
  CHECK(error("[1.5]") == "the number 1.5 is not a size\n  where: /zeros/0" + help);
  CHECK(error("[1e18]") == "the number 1e+18 is not a size\n  where: /zeros/0" + help);
  CHECK(error("[1e300]") == "the number 1e+300 is not a size\n  where: /zeros/0" + help);
  CHECK(error("[2, \"3\"]") == "the string \"3\" is not a size\n  where: /zeros/1" + help);
  CHECK(error("[2, [3]]") == "an array is not a size\n  where: /zeros/1" + help);
  CHECK(error("6") ==
        "expected an array of sizes, found the number 6\n  where: /zeros\n"
        "  help:  give an array of whole numbers, such as [2,3,4]");
  CHECK(error("[4294967296, 4294967296]") ==
        "the shape [4294967296,4294967296] has more elements than memory can address\n"
        "  where: /zeros\n  help:  check the shape for a misplaced digit");
  std::string ones = "[1";
  for (int i = 0; i < 32; ++i) ones += ",1";
  CHECK(error(ones + "]") == "the tensor has more than 32 axes\n  where: /zeros");
  CHECK(sizes_from_json(parse_json("[0, 8]"), 0, "") == std::vector<std::size_t>{0, 8});
}

TEST_CASE("a tensor of another file is what stands there, if it is what is said to") {
  const OpenTensor open = [](const std::string& file, const std::string& name) {
    if (file != "a.npz") throw input_error("there is no such file", "", "");
    CHECK(name == "q");
    return Tensor({2}, std::vector<double>{1, 2});
  };
  const auto from = [&](const std::string& text) {
    return tensor_from_json(parse_json(text), DType::float32, "/query", open);
  };
  CHECK(tensor_is<double>(from(R"({"file": "a.npz", "name": "q", "shape": [2]})"), {2}, {1, 2}));
  CHECK(error_from([&] { from(R"({"file": "a.npz", "name": "q", "shape": [3]})"); }) ==
        "the tensor in the file has the shape [2], not [3]\n  where: /query/shape\n"
        "  help:  name the file that was written with this entry, or leave this out");
  CHECK(error_from([&] { from(R"({"file": "b"})"); }) ==
        "there is no such file\n  where: /query/file");
  CHECK(error_from([&] { from(R"({"file": ["b"]})"); }) ==
        "expected a name, found an array\n  where: /query/file");
}

TEST_CASE("a tensor of another file has the type that is said, or one that holds its numbers") {
  const auto from = [](const std::string& dtype, const Tensor& tensor) {
    const OpenTensor open = [&](const std::string&, const std::string&) { return tensor; };
    return tensor_from_json(parse_json(R"({"file": "a.npy", "dtype": )" + dtype + "}"),
                            DType::float32, "/query", open);
  };
  const Tensor singles({2}, std::vector<float>{1, 2}), doubles({2}, std::vector<double>{1, 2});
  for (const char* const dtype : {R"("float32")", R"("bfloat16")", R"("float16")"}) {
    CAPTURE(dtype);
    CHECK(tensor_is<float>(from(dtype, singles), {2}, {1, 2}));
  }
  const std::string other =
      "\n  where: /query/dtype\n"
      "  help:  name the file that was written with this entry, or leave this out";
  CHECK(error_from([&] { from(R"("float16")", doubles); }) ==
        "the tensor in the file is of float64, not \"float16\"" + other);
  CHECK(error_from([&] { from(R"("int64")", singles); }) ==
        "the tensor in the file is of float32, not \"int64\"" + other);
  CHECK(error_from([&] { from("32", singles); }) ==
        "the number 32 is not a type of elements\n  where: /query/dtype\n"
        "  help:  the types are \"float32\", \"float64\", \"bfloat16\", \"float16\", \"int64\" and "
        "\"bool\"");
}

TEST_CASE("what looks like a tensor is an array down to its first number, or has a shape") {
  for (const char* const text :
       {"[1]", "[[true]]", R"(["inf"])", R"([["nan", 1]])", "[]", "[[]]", "[[1], 2]",
        R"({"shape": [1], "data": [1]})", R"({"shape": [1], "data": []})"}) {
    CAPTURE(text);
    CHECK(looks_like_tensor(parse_json(text)));
  }
  for (const char* const text :
       {"1", "true", R"("inf")", "null", "{}", R"(["a"])", "[null]", "[{}]", "[[{}]]",
        R"({"shape": [1]})", R"({"data": [1]})", R"({"shape": [1], "data": "1"})"}) {
    CAPTURE(text);
    CHECK_FALSE(looks_like_tensor(parse_json(text)));
  }
}

TEST_CASE("an object that is not a tensor says what it lacks") {
  CHECK(error_in(R"({"shape": [2]})") ==
        "\"shape\" is given without \"data\"\n  where: /query\n"
        "  help:  add \"data\", the numbers as one flat array");
  CHECK(error_in(R"({"data": [2]})") ==
        "\"data\" is given without \"shape\"\n  where: /query\n"
        "  help:  add \"shape\", such as [2,3,4]");
  CHECK(error_in(R"({"files": ["a.csv"]})") ==
        "the tensor is in comma-separated files, which are not read back\n  where: /query\n"
        "  help:  write the result with RunOptions::tensors json, npy, npz or safetensors");
}
