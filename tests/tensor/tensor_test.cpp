#include "attn/tensor.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

namespace {

using attn::DType;
using attn::Error;
using attn::ErrorKind;
using attn::Shape;
using attn::Tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t smallest_integer = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t largest_integer = std::numeric_limits<std::int64_t>::max();

template <class T>
std::vector<T> list(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

template <class Action>
ErrorKind kind_of_error(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error was thrown");
  return ErrorKind::usage;
}

TEST_CASE("dtypes have the names and sizes of NumPy's") {
  CHECK(std::string(attn::name(DType::float32)) == "float32");
  CHECK(std::string(attn::name(DType::float64)) == "float64");
  CHECK(std::string(attn::name(DType::int64)) == "int64");
  CHECK(std::string(attn::name(DType::boolean)) == "bool");
  CHECK(attn::size_of(DType::float32) == 4);
  CHECK(attn::size_of(DType::float64) == 8);
  CHECK(attn::size_of(DType::int64) == 8);
  CHECK(attn::size_of(DType::boolean) == 1);
}

TEST_CASE("a shape is written in brackets") {
  CHECK(attn::text(Shape{}) == "[]");
  CHECK(attn::text(Shape{5}) == "[5]");
  CHECK(attn::text(Shape{2, 3, 4}) == "[2,3,4]");
}

TEST_CASE("the elements of a shape are the product of its sizes") {
  CHECK(attn::element_count({}) == 1);
  CHECK(attn::element_count({7}) == 7);
  CHECK(attn::element_count({2, 3, 4}) == 24);
  CHECK(attn::element_count({2, 0, 4}) == 0);
}

TEST_CASE("a shape beyond the address space is refused, however its product wraps around") {
  CHECK_THROWS_WITH_AS(attn::element_count({4294967296, 4294967296}),
                       "the shape [4294967296,4294967296] has more elements than memory can "
                       "address\n  help:  check the shape for a misplaced digit",
                       Error);
  // 2⁶³ elements: the product alone would still fit.
  CHECK_THROWS_AS(attn::element_count({std::size_t{1} << 63U}), Error);
  CHECK_THROWS_AS(attn::element_count({std::size_t{1} << 60U}), Error);
  CHECK(attn::element_count({(std::size_t{1} << 60U) - 1}) == (std::size_t{1} << 60U) - 1);
  CHECK(kind_of_error([] { attn::element_count({1ULL << 40U, 1ULL << 40U}); }) == ErrorKind::input);
}

TEST_CASE("an axis of size 0 makes any shape empty, even one with huge axes") {
  CHECK(attn::element_count({std::size_t{1} << 62U, std::size_t{1} << 62U, 0}) == 0);
}

TEST_CASE("a default tensor is absent") {
  const Tensor absent;
  CHECK_FALSE(static_cast<bool>(absent));
  CHECK(absent.size() == 0);
  CHECK(absent.bytes() == nullptr);
  CHECK_FALSE(static_cast<bool>(absent.converted(DType::int64)));
  CHECK_THROWS_WITH_AS(absent.reshaped({0}), "an absent tensor was given a shape", Error);
}

TEST_CASE("a tensor without elements is not absent") {
  const Tensor empty({0, 3}, std::vector<float>{});
  CHECK(static_cast<bool>(empty));
  CHECK(empty.shape() == Shape{0, 3});
  CHECK(empty.values<float>().empty());
  CHECK(static_cast<bool>(empty.converted(DType::float64)));
  CHECK(static_cast<bool>(Tensor::borrowed({2, 0}, DType::boolean, nullptr, nullptr)));
}

TEST_CASE("a tensor knows its shape, dtype and elements") {
  const Tensor tensor({2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(static_cast<bool>(tensor));
  CHECK(tensor.shape() == Shape{2, 3});
  CHECK(tensor.rank() == 2);
  CHECK(tensor.size() == 6);
  CHECK(tensor.dtype() == DType::float64);
  CHECK(list<double>(tensor) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(Tensor({}, std::vector<float>{5}).rank() == 0);
}

TEST_CASE("elements that do not fill the shape are a mistake of the caller") {
  CHECK_THROWS_WITH_AS(Tensor({2, 3}, std::vector<float>(5)),
                       "5 elements cannot have the shape [2,3]\n  help:  give 6 elements", Error);
  CHECK(kind_of_error([] { Tensor({2, 3}, std::vector<float>(7)); }) == ErrorKind::usage);
}

TEST_CASE("elements are read only as what they are stored as") {
  const Tensor tensor({1}, std::vector<float>{1});
  const std::string help = "\n  help:  read it as it is stored, or convert it first";
  CHECK_THROWS_WITH_AS(tensor.values<double>(),
                       ("a tensor of float32 was read as float64" + help).c_str(), Error);
  CHECK_THROWS_WITH_AS(tensor.values<std::uint8_t>(),
                       ("a tensor of float32 was read as bool" + help).c_str(), Error);
  CHECK(kind_of_error([&] { tensor.values<double>(); }) == ErrorKind::usage);
}

TEST_CASE("an element of any type is read at its index") {
  const Tensor tensor({2, 3}, {0, 1, 2, 3, 4, 5.5F});
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    CHECK(tensor.converted(dtype).at({1, 2}) == 5.5);
    CHECK(tensor.converted(dtype).at({0, 1}) == 1);
  }
  CHECK(tensor.converted(DType::int64).at({1, 0}) == 3);
  CHECK(Tensor({}, std::vector<float>{7}).at({}) == 7);
  const std::string help = "\n  help:  give an index per axis, each below the size of its axis";
  CHECK_THROWS_WITH_AS(tensor.at({1, 3}), ("a tensor [2,3] has no element [1,3]" + help).c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(tensor.at({1}), ("a tensor [2,3] has no element [1]" + help).c_str(), Error);
  CHECK(kind_of_error([] { Tensor().at({}); }) == ErrorKind::usage);
}

TEST_CASE("copies and reshaped tensors share the elements") {
  const Tensor tensor({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const Tensor copy = tensor;
  CHECK(copy.bytes() == tensor.bytes());
  const Tensor reshaped = tensor.reshaped({3, 1, 2});
  CHECK(reshaped.shape() == Shape{3, 1, 2});
  CHECK(reshaped.bytes() == tensor.bytes());
  CHECK_THROWS_WITH_AS(tensor.reshaped({4}),
                       "6 elements cannot have the shape [4]\n  help:  give 4 elements", Error);
}

TEST_CASE("a borrowed tensor keeps the owner of its elements alive") {
  auto owner = std::make_shared<std::array<std::int64_t, 2>>(std::array<std::int64_t, 2>{8, 9});
  const std::weak_ptr<const void> watch = owner;
  Tensor outer;
  {
    const Tensor tensor = Tensor::borrowed({2}, DType::int64, owner->data(), owner);
    outer = tensor.reshaped({1, 2});
  }
  owner.reset();
  REQUIRE_FALSE(watch.expired());
  CHECK(list<std::int64_t>(outer) == std::vector<std::int64_t>{8, 9});
  outer = Tensor();
  CHECK(watch.expired());
}

TEST_CASE("conversion to the same dtype shares the elements") {
  const Tensor tensor({2}, std::vector<float>{1, 2});
  CHECK(tensor.converted(DType::float32).bytes() == tensor.bytes());
}

TEST_CASE("every dtype converts to every other") {
  const std::vector<Tensor> all{Tensor({3}, std::vector<float>{0, 1, 1}),
                                Tensor({3}, std::vector<double>{0, 1, 1}),
                                Tensor({3}, std::vector<std::int64_t>{0, 1, 1}),
                                Tensor({3}, std::vector<std::uint8_t>{0, 1, 1})};
  for (const Tensor& from : all) {
    CAPTURE(attn::name(from.dtype()));
    CHECK(list<float>(from.converted(DType::float32)) == std::vector<float>{0, 1, 1});
    CHECK(list<double>(from.converted(DType::float64)) == std::vector<double>{0, 1, 1});
    CHECK(list<std::int64_t>(from.converted(DType::int64)) == std::vector<std::int64_t>{0, 1, 1});
    CHECK(list<std::uint8_t>(from.converted(DType::boolean)) == std::vector<std::uint8_t>{0, 1, 1});
  }
}

TEST_CASE("doubles are rounded to the nearest float, beyond its range to infinity") {
  const Tensor tensor({4}, std::vector<double>{0.1, 1 + 0x1p-24 + 0x1p-40, 1e300, -infinity});
  CHECK(list<float>(tensor.converted(DType::float32)) ==
        std::vector<float>{0.1F, 1 + 0x1p-23F, std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity()});
}

TEST_CASE("numbers are rounded to the nearest integer, halves to even") {
  const std::vector<double> numbers{2.7, -2.7, 0.5, 1.5, 2.5, -0.4};
  const std::vector<std::int64_t> expected{3, -3, 0, 2, 2, 0};
  CHECK(list<std::int64_t>(Tensor({6}, numbers).converted(DType::int64)) == expected);
  const Tensor floats = Tensor({6}, numbers).converted(DType::float32);
  CHECK(list<std::int64_t>(floats.converted(DType::int64)) == expected);
}

TEST_CASE("numbers no integer can hold become the nearest one, NaN 0") {
  const std::vector<double> numbers{0x1p63, 1e300, infinity, -0x1p63, -1e300, -infinity, nan};
  const std::vector<std::int64_t> expected{largest_integer,
                                           largest_integer,
                                           largest_integer,
                                           smallest_integer,
                                           smallest_integer,
                                           smallest_integer,
                                           0};
  CHECK(list<std::int64_t>(Tensor({7}, numbers).converted(DType::int64)) == expected);
}

TEST_CASE("as booleans all numbers but zeros are true, NaN too") {
  const Tensor tensor({6}, std::vector<double>{0, -0.0, 0.25, -3, nan, infinity});
  CHECK(list<std::uint8_t>(tensor.converted(DType::boolean)) ==
        std::vector<std::uint8_t>{0, 0, 1, 1, 1, 1});
}

}  // namespace
