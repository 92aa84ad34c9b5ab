#include "attention/layer_norm.hpp"

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
