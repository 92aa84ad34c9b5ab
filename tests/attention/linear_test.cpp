#include "attention/linear.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "attention/random_request.hpp"
#include "attention/recorded_case.hpp"
#include "error_from.hpp"
#include "kernels/every_target.hpp"

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
  for (const Shape& shape :
       {Shape{3, 11, 7}, Shape{130, 70}, Shape{1, 200}, Shape{300, 400}, Shape{60, 1100}}) {
    const Linear linear{random.normal({205, shape.back()}), random.normal({205})};
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor x = random.normal(shape).converted(dtype), y = apply(linear, x, 1);
      CHECK(y.dtype() == dtype);
      for (const std::size_t threads : {2, 3, 7}) CHECK(same_bits(apply(linear, x, threads), y));
    }
  }
}

TEST_CASE("a Linear layer of many rows has the bits of its parts") {
  RandomRequests random(2);
  const Linear linear{random.normal({40, 2800}), random.normal({40})};
  const Tensor x = random.normal({2600, 2800}).converted(DType::float32);
  const Tensor y = apply(linear, x, 2);
  for (const std::size_t first : {0, 1000, 1280, 2500}) {
    CAPTURE(first);
    const auto begin = x.values<float>().begin() + static_cast<std::ptrdiff_t>(first * 2800);
    const Tensor part =
        apply(linear, Tensor({100, 2800}, std::vector<float>(begin, begin + 280000)), 1);
    CHECK(std::ranges::equal(part.values<float>(), y.values<float>().subspan(first * 40, 4000)));
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

// Σ|x||w| is what an error of float32 is measured by.
void check_near(const Tensor& x, const Tensor& w, const Tensor& y) {
  const std::size_t width = w.shape()[1], columns = w.shape()[0];
  for (std::size_t i = 0; i < x.size() / width; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      double sum = 0, size = 0;
      for (std::size_t k = 0; k < width; ++k) {
        const double term = static_cast<double>(x.values<float>()[i * width + k]) *
                            static_cast<double>(w.values<float>()[j * width + k]);
        sum += term;
        size += std::abs(term);
      }
      const float got = y.values<float>()[i * columns + j];
      if (!std::isfinite(sum)) {
        REQUIRE((std::isnan(sum) ? std::isnan(got) : static_cast<double>(got) == sum));
      } else {
        REQUIRE(std::abs(static_cast<double>(got) - sum) <= 0x1p-20 * size);
      }
    }
  }
}

TEST_CASE("a Linear layer is that of double precision for every number of rows, on every target") {
  RandomRequests random(4);
  const Tensor w = random.normal({45, 70}).converted(DType::float32);
  attn::testing::on_every_target([&] {
    for (std::size_t rows = 1; rows <= 70; ++rows) {
      const Tensor x = random.normal({rows, 70}).converted(DType::float32);
      check_near(x, w, apply(Linear{w, {}}, x, 2));
    }
    for (const std::size_t width : {70, 1100}) {
      const Tensor wide = random.normal({45, width}).converted(DType::float32);
      const Tensor x = random.normal({300, width}).converted(DType::float32);
      check_near(x, wide, apply(Linear{wide, {}}, x, 3));
    }
  });
}

TEST_CASE("a Linear layer of numbers that are infinite, tiny or huge is that of the definition") {
  RandomRequests random(6);
  const Tensor plain_x = random.normal({64, 40}).converted(DType::float32);
  const Tensor plain_w = random.normal({33, 40}).converted(DType::float32);
  const auto with = [](const Tensor& tensor, std::size_t row, float number) {
    std::vector<float> numbers(tensor.values<float>().begin(), tensor.values<float>().end());
    for (std::size_t k = 0; k < 40; ++k) numbers[row * 40 + k] *= number;
    return Tensor(tensor.shape(), std::move(numbers));
  };
  attn::testing::on_every_target([&] {
    for (const float special : {HUGE_VALF, NAN, 1e30F, 1e-30F, 0.0F}) {
      CAPTURE(special);
      for (const std::size_t row : {0, 31, 32}) {
        const Tensor x = with(plain_x, row, special), w = with(plain_w, row, special);
        check_near(x, plain_w, apply(Linear{plain_w, {}}, x, 2));
        check_near(plain_x, w, apply(Linear{w, {}}, plain_x, 2));
      }
    }
  });
}

TEST_CASE("products of one x at once give what each gives alone, finished number by number") {
  RandomRequests random(7);
  const Tensor x = random.normal({130, 50});
  std::vector<Linear> linears;
  for (const std::size_t columns : {205, 3, 64}) {
    linears.push_back({random.normal({columns, 50}), random.normal({columns})});
  }
  attn::testing::on_every_target([&] {
    for (const DType dtype : {DType::float32, DType::float64}) {
      std::vector<attn::Product> products;
      for (const Linear& linear : linears) {
        attn::MatrixRows rows;
        rows.rows = linear.weight.shape()[0];
        rows.columns = 50;
        const auto make = [w = linear.weight.values<double>()](std::size_t first, std::size_t count,
                                                               std::size_t stride, auto* to) {
          for (std::size_t i = 0; i < count * 50; ++i) {
            to[i / 50 * stride + i % 50] =
                static_cast<std::remove_pointer_t<decltype(to)>>(w[first * 50 + i]);
          }
        };
        rows.floats = make;
        rows.doubles = make;
        const auto twice = [](std::size_t, std::size_t count, auto* y) {
          for (std::size_t i = 0; i < count; ++i) y[i] *= 2;
        };
        products.push_back({rows, linear.bias, {twice, twice}});
      }
      const std::vector<Tensor> together = apply(products, x.converted(dtype), 3);
      REQUIRE(together.size() == linears.size());
      for (std::size_t i = 0; i < linears.size(); ++i) {
        const Linear linear{linears[i].weight.converted(dtype), linears[i].bias};
        const Tensor alone = apply(linear, x.converted(dtype), 1).converted(DType::float64);
        const Tensor got = together[i].converted(DType::float64);
        REQUIRE(got.shape() == alone.shape());
        for (std::size_t k = 0; k < got.size(); ++k) {
          REQUIRE(got.values<double>()[k] == 2 * alone.values<double>()[k]);
        }
      }
    }
  });
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
        "  help:  give it one number per row of self_attn.W_q.weight");
}

}  // namespace

namespace {

using namespace attn::testing;
using attn::DType;
using attn::Norm;
using attn::Tensor;

std::string refusal(const Norm& norm, std::size_t width) {
  return error_from([&] { check_layer_norm(norm, width, "layers.1.", "norm2"); });
}

TEST_CASE("a layer norm gives the numbers of torch.nn.functional.layer_norm") {
  check_recorded(
      recorded_cases("layers.txt", "layer_norm"), [](const RecordedCase& one, DType dtype) {
        const Tensor y = apply(one.norm("norm"), one.tensor("x").converted(DType::float64),
                               one.number("eps").value(), 1);
        return Results{{"output", y.converted(dtype)}};
      });
}

TEST_CASE("a layer norm without weight and bias gives rows of mean 0 and variance 1") {
  RandomRequests random(3);
  const auto y = numbers(apply(Norm{}, random.normal({4, 50}), 1e-12, 1));
  for (std::size_t row = 0; row < 4; ++row) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      mean += y[row * 50 + i] / 50;
      squares += y[row * 50 + i] * y[row * 50 + i] / 50;
    }
    CHECK(std::abs(mean) < 1e-14);
    CHECK(squares == doctest::Approx(1).epsilon(1e-9));
  }
}

TEST_CASE("a layer norm of float32 is that of float64, rounded, on any number of threads") {
  RandomRequests random(5);
  const Norm norm{random.normal({70}), random.normal({70})};
  const Tensor x = random.normal({3, 37, 70}).converted(DType::float32);
  const Tensor exact = apply(norm, x.converted(DType::float64), 1e-5, 1);
  for (const std::size_t threads : {1, 2, 3, 7}) {
    CHECK(same_bits(apply(norm, x, 1e-5, threads), exact.converted(DType::float32)));
  }
}

TEST_CASE("a layer norm refuses weights of another width") {
  RandomRequests random(4);
  CHECK(refusal({random.normal({5}), random.normal({5})}, 5) == "no error");
  CHECK(refusal({}, 5) == "no error");
  CHECK(refusal({random.normal({4}), {}}, 5) ==
        "layers.1.norm2.weight [4] does not fit: expected [5]\n"
        "  where: /parameters/layers.1.norm2.weight\n"
        "  help:  give it one number for each of a hidden state's 5");
  CHECK(refusal({random.normal({5}), random.normal({1, 5})}, 5) ==
        "layers.1.norm2.bias [1,5] does not fit: expected [5]\n"
        "  where: /parameters/layers.1.norm2.bias\n"
        "  help:  give it one number for each of a hidden state's 5");
}

}  // namespace
