#include "tensor/tensor_part.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "tensor/shape_only.hpp"

namespace {

using attn::Shape;
using attn::Tensor;

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
  const Tensor whole({3, 1, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor rows = attn::rows_of(whole, 1, 2);
  CHECK(rows.shape() == Shape{2, 1, 2});
  CHECK(rows.values<float>()[0] == 3);
  CHECK(attn::rows_of(Tensor({3}, {7, 8, 9}), 2, 1).values<float>()[0] == 9);
}

TEST_CASE("parts of a shape alone are shapes alone") {
  const Tensor rows = attn::rows_of(attn::shape_only({40, 50}, attn::DType::float32), 10, 20);
  CHECK(attn::is_shape_only(rows));
  CHECK(rows.shape() == Shape{20, 50});
  CHECK(rows.dtype() == attn::DType::float32);
}

}  // namespace
