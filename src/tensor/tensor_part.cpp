#include "tensor/tensor_part.hpp"

#include <memory>
#include <utility>

#include "tensor/shape_only.hpp"

namespace attn {

Tensor part_of(const Tensor& tensor, std::size_t first, Shape shape) {
  if (is_shape_only(tensor)) return shape_only(std::move(shape), tensor.dtype());
  const auto* const elements =
      static_cast<const std::byte*>(tensor.bytes()) + first * size_of(tensor.dtype());
  return Tensor::borrowed(std::move(shape), tensor.dtype(), elements,
                          std::make_shared<const Tensor>(tensor));
}

Tensor rows_of(const Tensor& tensor, std::size_t first, std::size_t count) {
  Shape shape = tensor.shape();
  const std::size_t row = tensor.size() / shape[0];
  shape[0] = count;
  return part_of(tensor, first * row, std::move(shape));
}

}  // namespace attn
