#include "attention/linear.hpp"

#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "attention/random_request.hpp"
#include "attention/recorded_case.hpp"
#include "error_from.hpp"

namespace {

using namespace attn::testing;
using attn::DType;
using attn::Linear;
using attn::Shape;
using attn::Tensor;

std::string refusal(const Linear& linear, const Shape& x) {
  return error_from([&] { check_linear(linear, x, "self_attn.", "W_q"); });
}

TEST_CASE("a Linear layer gives the numbers of torch.nn.functional.linear") {
  check_recorded(recorded_cases("layers.txt", "linear"), [](const RecordedCase& one, DType dtype) {
    const Linear linear = one.linear("linear");
    const Tensor x = one.tensor("x");
    const Tensor y = apply(linear, x.converted(DType::float64), 1);
    CHECK(check_linear(linear, x.shape(), "", "linear") == y.shape());
    return Results{{"output", y.converted(dtype)}};
  });
}

TEST_CASE("a Linear layer is the same on any number of threads") {
  RandomRequests random(1);
  for (const Shape& shape : {Shape{3, 11, 7}, Shape{130, 70}, Shape{1, 200}}) {
    const Linear linear{random.normal({205, shape.back()}), random.normal({205})};
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor x = random.normal(shape).converted(dtype), y = apply(linear, x, 1);
      CHECK(y.dtype() == dtype);
      for (const std::size_t threads : {2, 3, 7}) CHECK(same_bits(apply(linear, x, threads), y));
    }
  }
}

TEST_CASE("a Linear layer in single precision is within its bound of double precision") {
  RandomRequests random(3);
  const Linear linear{random.normal({90, 300}), random.normal({90})};
  const Tensor x = random.normal({60, 300});
  const Tensor exact = apply(linear, x, 1), y = apply(linear, x.converted(DType::float32), 2);
  // Rounding the 300 products and their sums, by slices of 192, and the inputs themselves: 192 + 5
  // half units, of what the sizes of 300 products of normal numbers, whose mean is 2/π, come to at
  // most.
  const double bound = (192 + 5) * 0x1p-24 * 300;
  for (std::size_t i = 0; i < y.size(); ++i) {
    CHECK(std::abs(static_cast<double>(y.values<float>()[i]) - exact.values<double>()[i]) <= bound);
  }
}

TEST_CASE("a Linear layer refuses parameters that do not fit, naming the shape it expects") {
  RandomRequests random(2);
  CHECK(refusal({}, {2, 3, 4}) ==
        "the parameter self_attn.W_q.weight is missing\n"
        "  where: /parameters/self_attn.W_q.weight\n"
        "  help:  give it the shape [out,4]");
  CHECK(refusal({random.normal({5, 3}), {}}, {2, 3, 4}) ==
        "self_attn.W_q.weight [5,3] does not fit: expected [out,4]\n"
        "  where: /parameters/self_attn.W_q.weight\n"
        "  help:  its second axis is the width of what it is applied to, [2,3,4]");
  CHECK(refusal({random.normal({4}), {}}, {3, 4}) ==
        "self_attn.W_q.weight [4] does not fit: expected [out,4]\n"
        "  where: /parameters/self_attn.W_q.weight\n"
        "  help:  its second axis is the width of what it is applied to, [3,4]");
  CHECK(refusal({doubles({0, 4}, {}), {}}, {3, 4}) ==
        "self_attn.W_q.weight [0,4] has an axis of size 0\n"
        "  where: /parameters/self_attn.W_q.weight\n"
        "  help:  give every axis at least one element");
  CHECK(refusal({random.normal({5, 4}), random.normal({4})}, {3, 4}) ==
        "self_attn.W_q.bias [4] does not fit: expected [5]\n"
        "  where: /parameters/self_attn.W_q.bias\n"
        "  help:  give it one number a row of self_attn.W_q.weight");
}

}  // namespace
