#include "tensor/shape_only.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

namespace {

using attn::DType;
using attn::is_shape_only;
using attn::Shape;
using attn::shape_only;
using attn::Tensor;

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

}  // namespace
