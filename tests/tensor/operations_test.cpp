#include "tensor/operations.hpp"

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "tensor/elements.hpp"

namespace {

using attn::DType;
using attn::is_shape_only;
using attn::Shape;
using attn::shape_only;
using attn::Tensor;

template <class T = float>
std::vector<T> numbers(const Tensor& tensor) {
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

// 0, 1, 2…
Tensor counted(Shape shape) {
  std::vector<float> elements(attn::element_count(shape));
  std::iota(elements.begin(), elements.end(), 0.0F);
  return {std::move(shape), std::move(elements)};
}

TEST_CASE("a shape alone has no elements that could be read") {
  const Tensor tensor = shape_only({40, 50});
  CHECK(tensor);
  CHECK(is_shape_only(tensor));
  CHECK(tensor.shape() == Shape{40, 50});
  CHECK(tensor.dtype() == DType::float64);
  CHECK(error_from([&] { tensor.values<double>(); }, attn::ErrorKind::internal) ==
        "the elements of [40,50] were read, of which only the shape is known");
  CHECK_FALSE(is_shape_only(Tensor()));
  CHECK_FALSE(is_shape_only(Tensor({1}, {0})));
  CHECK_FALSE(is_shape_only(Tensor({0}, std::vector<float>())));
}

TEST_CASE("a shape alone stays one in every other type and shape") {
  for (const DType from : {DType::float32, DType::int64, DType::bfloat16}) {
    for (const DType to : {DType::float32, DType::float64, DType::int64, DType::boolean,
                           DType::bfloat16, DType::float16}) {
      const Tensor tensor = shape_only({6, 7}, from).converted(to);
      CHECK(is_shape_only(tensor));
      CHECK(tensor.shape() == Shape{6, 7});
      CHECK(tensor.dtype() == to);
    }
  }
  CHECK(is_shape_only(shape_only({6, 7}).reshaped({42})));
}

TEST_CASE("operations on a shape alone give a shape alone") {
  const Tensor tensor = shape_only({2, 3, 4}, DType::float32);
  const auto check = [](const Tensor& result, const Shape& shape) {
    CHECK(is_shape_only(result));
    CHECK(result.shape() == shape);
    CHECK(result.dtype() == DType::float32);
  };
  check(attn::rows_of(tensor, 1, 1), {1, 3, 4});
  check(attn::part_of(tensor, 4, {2, 4}), {2, 4});
  check(attn::picked(tensor, std::array<std::size_t, 2>{1, 1}, 1), {2, 2, 4});
  check(attn::concatenated(std::array{tensor, tensor}, 2), {2, 3, 8});
  check(attn::batched(std::array{attn::rows_of(tensor, 0, 1), attn::rows_of(tensor, 1, 1)}),
        {2, 3, 4});
  check(attn::repeated(tensor, 3), {6, 3, 4});
  check(attn::permuted(tensor, {2, 0, 1}), {4, 2, 3});
}

TEST_CASE("a part of a tensor shares its elements and keeps them") {
  Tensor part;
  const float* elements = nullptr;
  {
    const Tensor whole({2, 3}, {1, 2, 3, 4, 5, 6});
    elements = whole.values<float>().data();
    part = attn::part_of(whole, 2, {2, 1});
  }
  CHECK(part.shape() == Shape{2, 1});
  CHECK(part.values<float>().data() == elements + 2);
  CHECK(part.values<float>()[1] == 4);
}

TEST_CASE("rows are counted along the first axis, whatever the others are") {
  const Tensor rows = attn::rows_of(Tensor({3, 1, 2}, {1, 2, 3, 4, 5, 6}), 1, 2);
  CHECK(rows.shape() == Shape{2, 1, 2});
  CHECK(rows.values<float>()[0] == 3);
  CHECK(attn::rows_of(Tensor({3}, {7, 8, 9}), 2, 1).values<float>()[0] == 9);
}

TEST_CASE("slices of an axis are picked in any order") {
  const Tensor tensor = counted({2, 3, 2});
  const std::array<std::size_t, 3> indices{2, 0, 2};
  const Tensor of_second = attn::picked(tensor, indices, 1);
  CHECK(of_second.shape() == Shape{2, 3, 2});
  CHECK(numbers(of_second) == std::vector<float>{4, 5, 0, 1, 4, 5, 10, 11, 6, 7, 10, 11});
  CHECK(numbers(attn::picked(counted({3}), indices)) == std::vector<float>{2, 0, 2});
  const Tensor flags({2, 1}, std::vector<std::uint8_t>{1, 0});
  CHECK(numbers<std::uint8_t>(attn::picked(flags, std::array<std::size_t, 1>{1})) ==
        std::vector<std::uint8_t>{0});
}

TEST_CASE("tensors are concatenated along any axis") {
  const Tensor a({2, 1}, {1, 2}), b({2, 2}, {3, 4, 5, 6});
  const Tensor wide = attn::concatenated(std::array{a, b}, 1);
  CHECK(wide.shape() == Shape{2, 3});
  CHECK(numbers(wide) == std::vector<float>{1, 3, 4, 2, 5, 6});
  const Tensor high = attn::concatenated(std::array{b, b});
  CHECK(high.shape() == Shape{4, 2});
  CHECK(numbers(high) == std::vector<float>{3, 4, 5, 6, 3, 4, 5, 6});
  CHECK(error_from(
            [&] {
              attn::concatenated(std::array{a, b});
            },
            attn::ErrorKind::internal) ==
        "the tensors float32 [2,1] and float32 [2,2] do not fit together");
}

TEST_CASE("samples of different sizes become a batch with zeros at the ends") {
  const Tensor a({1, 1, 2}, {1, 2}), b({1, 2, 1}, {3, 4});
  const Tensor batch = attn::batched(std::array{a, b});
  CHECK(batch.shape() == Shape{2, 2, 2});
  CHECK(numbers(batch) == std::vector<float>{1, 2, 0, 0, 3, 0, 4, 0});
  CHECK(numbers(attn::batched(std::array{a, a})) == std::vector<float>{1, 2, 1, 2});
  CHECK(attn::batched(std::array{a}).bytes() == a.bytes());
}

TEST_CASE("NaN and infinities are counted in every type, -inf unless it hides") {
  std::vector<double> elements(3000, 1.0);
  for (const std::size_t at : {1000UL, 1001UL, 2999UL}) elements[at] = NAN;
  elements[700] = -INFINITY;
  elements[900] = INFINITY;
  const Tensor doubles({2, 1500}, elements);
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    CAPTURE(attn::name(dtype));
    const Tensor tensor = doubles.converted(dtype);
    CHECK(attn::not_finite(tensor).count == 5);
    CHECK(attn::not_finite(tensor).first == 700);
    CHECK(attn::not_finite(tensor, true, 2).count == 4);
    CHECK(attn::not_finite(tensor, true, 2).first == 900);
    CHECK(attn::not_finite(Tensor({3}, {1, 2, 3}).converted(dtype)).count == 0);
  }
  CHECK(attn::not_finite(doubles.converted(DType::int64)).count == 0);
  CHECK(attn::not_finite(Tensor()).count == 0);
  // Of several blocks, which several threads look at.
  std::vector<float> many(1 << 20U, 0.0F);
  many[600000] = many[999999] = NAN;
  const attn::NotFinite found = attn::not_finite(Tensor({1 << 20U}, std::move(many)), false, 2);
  CHECK(found.count == 2);
  CHECK(found.first == 600000);
  CHECK(attn::index_of(3 * 5 + 4, {2, 3, 5}) == Shape{1, 0, 4});
}

TEST_CASE("the largest numbers come first, of equal ones the lower place, and NaN last") {
  using Places = std::vector<std::size_t>;
  const std::vector<double> numbers{1, NAN, 3, 3, -INFINITY, NAN};
  CHECK(attn::largest_of(numbers, 2) == Places{2, 3});
  CHECK(attn::largest_of(numbers, 9) == Places{2, 3, 0, 4, 1, 5});
  CHECK(attn::largest_of({}, 3).empty());
}

TEST_CASE("a tensor is repeated along its first axis") {
  const Tensor twice = attn::repeated(Tensor({1, 2}, {1, 2}), 2);
  CHECK(twice.shape() == Shape{2, 2});
  CHECK(numbers(twice) == std::vector<float>{1, 2, 1, 2});
}

TEST_CASE("axes are permuted") {
  const Tensor tensor = counted({2, 3, 2});
  CHECK(numbers(attn::permuted(tensor, {0, 1, 2})) == numbers(tensor));
  const Tensor reversed = attn::permuted(tensor, {2, 1, 0});
  CHECK(reversed.shape() == Shape{2, 3, 2});
  CHECK(numbers(reversed) == std::vector<float>{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
  const Tensor rows_moved = attn::permuted(tensor, {1, 0, 2});
  CHECK(rows_moved.shape() == Shape{3, 2, 2});
  CHECK(numbers(rows_moved) == std::vector<float>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11});
}

TEST_CASE("tensors are added element by element, on any number of threads") {
  const std::size_t size = (1 << 15U) + 7;
  std::vector<double> a(size), b(size);
  for (std::size_t i = 0; i < size; ++i) {
    a[i] = std::sin(static_cast<double>(i));
    b[i] = std::cos(static_cast<double>(i));
  }
  const Tensor x({size}, a), y({size}, b);
  const Tensor one = attn::sum(x, y), many = attn::sum(x, y, 3);
  bool equal = true;
  for (std::size_t i = 0; i < size; ++i) {
    equal =
        equal && one.values<double>()[i] == a[i] + b[i] && many.values<double>()[i] == a[i] + b[i];
  }
  CHECK(equal);
  const Tensor row({2}, {10, 20});
  CHECK(numbers(attn::sum(counted({2, 2}), row)) == std::vector<float>{10, 21, 12, 23});
  CHECK(error_from(
            [&] {
              attn::sum(row, counted({2, 2}));
            },
            attn::ErrorKind::internal) ==
        "the tensors float32 [2] and float32 [2,2] do not fit together");
  CHECK_THROWS_AS(attn::sum(x, y.converted(DType::float32)), attn::Error);
}

TEST_CASE("quotients are in double precision") {
  const Tensor thirds = attn::divided(Tensor({2}, {1, 2}), 3);
  CHECK(thirds.dtype() == DType::float64);
  CHECK(numbers<double>(thirds) == std::vector<double>{1.0 / 3, 2.0 / 3});
}

TEST_CASE("elements are used in the type that stores them") {
  const auto bytes = [](DType dtype) {
    return attn::with_element_type(dtype, []<class T>() { return sizeof(T); });
  };
  for (const DType dtype : {DType::float32, DType::float64, DType::int64, DType::boolean}) {
    CHECK(bytes(dtype) == attn::size_of(dtype));
  }
  CHECK(error_from([&] { bytes(DType::bfloat16); }, attn::ErrorKind::internal) ==
        "elements of bfloat16 cannot be computed with");
  CHECK(attn::with_elements(counted({3}), [](auto values) { return values.size(); }) == 3);
  const Tensor squares = attn::mapped(
      2, [](double x, double y) { return x * y; }, counted({3}), counted({3}));
  CHECK(numbers(squares) == std::vector<float>{0, 1, 4});
}

}  // namespace
