#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "attention/linear.hpp"
#include "attention/random_request.hpp"
#include "attention/recorded_case.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace {

using namespace attn::testing;
using attn::DType;
using attn::Linear;
using attn::StoredLinear;
using attn::StoredMatrix;
using attn::Tensor;

// The elements one byte further than they must be aligned.
Tensor unaligned(const Tensor& tensor) {
  const std::size_t size = tensor.size() * size_of(tensor.dtype());
  const auto bytes = std::make_shared<std::vector<std::byte>>(size + 1);
  const auto* from = static_cast<const std::byte*>(tensor.bytes());
  std::copy(from, from + size, bytes->begin() + 1);
  return Tensor::borrowed(tensor.shape(), tensor.dtype(), bytes->data() + 1, bytes);
}

TEST_CASE("a stored matrix gives the products of the tensor that it stores, to the bit") {
  RandomRequests random(3);
  for (const DType stored : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    CAPTURE(name(stored));
    const Tensor weight = random.normal({19, 7}).converted(stored);
    const Tensor turned = permuted(weight.converted(DType::float64), {1, 0}).converted(stored);
    const Linear linear{weight.converted(DType::float64), random.normal({19})};
    for (const std::size_t rows : {1, 40}) {
      for (const DType dtype : {DType::float32, DType::float64}) {
        const Tensor x = random.normal({rows, 7}).converted(dtype);
        const Tensor y = apply(linear, x, 2);
        for (const StoredMatrix& matrix :
             {StoredMatrix(weight), StoredMatrix(unaligned(weight)), StoredMatrix(turned, true)}) {
          const Tensor own = apply(StoredLinear(matrix, linear.bias), x, 2);
          // Sums take another order for a few rows of matrices [in,out], and on matrix tiles.
          if (rows == 1 || stored == DType::bfloat16) {
            CHECK(difference(own, y) <= 1e-5);
          } else {
            CHECK(same_bits(own, y));
          }
        }
      }
    }
    CHECK(same_bits(StoredMatrix(turned, true).tensor(), linear.weight));
    const std::vector<std::int64_t> few = {11, 0, 11, 18};
    const Tensor rows = picked(linear.weight, std::vector<std::size_t>{11, 0, 11, 18});
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const StoredMatrix& matrix :
           {StoredMatrix(weight), StoredMatrix(unaligned(weight)), StoredMatrix(turned, true)}) {
        CHECK(same_bits(matrix.rows_at(few, dtype), rows.converted(dtype)));
      }
    }
  }
}

// A matrix whose rows are made, as those of blocks are, of the tensor's.
StoredMatrix made_of(const Tensor& weight) {
  return StoredMatrix(
      attn::MadeRows{weight.shape()[0], weight.shape()[1], [weight](std::size_t row, float* to) {
                       const auto numbers = weight.values<float>();
                       const std::size_t width = weight.shape()[1];
                       std::copy_n(numbers.data() + row * width, width, to);
                     }});
}

TEST_CASE("a matrix whose rows are made gives the products of its numbers, to the bit") {
  RandomRequests random(5);
  const Tensor weight = random.normal({130, 33}).converted(DType::float32);
  const Tensor other = random.normal({130, 33}).converted(DType::float32);
  for (const std::size_t rows : {1, 7, 40, 200}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor x = random.normal({rows, 33}).converted(dtype);
      const auto product = [&](const StoredMatrix& matrix) {
        return apply(StoredLinear(matrix, {}), x, 2);
      };
      CHECK(same_bits(product(made_of(weight)), product(StoredMatrix(weight))));
      CHECK(same_bits(product(made_of(weight).rows(3, 20)),
                      product(StoredMatrix(weight).rows(3, 20))));
      CHECK(same_bits(product(made_of(weight).picked({5, 1, 129})),
                      product(StoredMatrix(weight).picked({5, 1, 129}))));
      const StoredMatrix turns = rows_in_turn(StoredMatrix(weight), made_of(other));
      CHECK(turns.shape() == attn::Shape{260, 33});
      CHECK(same_bits(
          product(turns.picked({4, 7})),
          product(rows_in_turn(StoredMatrix(weight), StoredMatrix(other)).picked({4, 7}))));
      CHECK(same_bits(product(turns.rows(4, 1)), product(StoredMatrix(weight).rows(2, 1))));
      const Tensor exact = random.normal({130, 33});
      const StoredMatrix doubles = rows_in_turn(StoredMatrix(exact), StoredMatrix(weight));
      CHECK(same_bits(product(doubles.rows(4, 1)), product(StoredMatrix(exact).rows(2, 1))));
      CHECK(same_bits(product(doubles.rows(5, 1)), product(StoredMatrix(weight).rows(2, 1))));
    }
  }
  CHECK(same_bits(made_of(weight).tensor(), weight.converted(DType::float64)));
}

TEST_CASE("rows of a stored matrix are those of its tensor, picked in any order") {
  RandomRequests random(4);
  const Tensor weight = random.normal({9, 5});
  const Tensor turned = permuted(weight, {1, 0});
  const std::vector<std::size_t> order{7, 0, 1, 2, 8};
  for (const StoredMatrix& matrix : {StoredMatrix(weight), StoredMatrix(turned, true)}) {
    CHECK(same_bits(matrix.rows(2, 3).tensor(), rows_of(weight, 2, 3)));
    const StoredMatrix picked = matrix.picked(order);
    CHECK(picked.shape() == attn::Shape{5, 5});
    CHECK(same_bits(picked.tensor(), attn::picked(weight, order)));
    CHECK(same_bits(picked.rows(1, 3).tensor(), rows_of(weight, 0, 3)));
    const Tensor x = random.normal({11, 5});
    CHECK(same_bits(apply(StoredLinear(picked, {}), x, 1),
                    apply(Linear{attn::picked(weight, order), {}}, x, 1)));
  }
}

TEST_CASE("a stored matrix is turned in every way in which it is stored, whole and in part") {
  RandomRequests random(6);
  const Tensor weight = random.normal({9, 5}).converted(DType::float32);
  const Tensor turned = permuted(weight, {1, 0});
  for (const StoredMatrix& matrix : {StoredMatrix(weight), StoredMatrix(turned, true),
                                     StoredMatrix(unaligned(weight)), made_of(weight)}) {
    const auto check = [](const StoredMatrix& part) {
      CHECK(part.turned().shape() == attn::Shape{part.shape()[1], part.shape()[0]});
      CHECK(same_bits(part.turned().tensor(), permuted(part.tensor(), {1, 0})));
      CHECK(same_bits(part.turned().turned().tensor(), part.tensor()));
    };
    check(matrix);
    check(matrix.rows(2, 3));
    check(matrix.picked({7, 0, 8}));
  }
}

}  // namespace
