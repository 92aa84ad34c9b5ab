#include "run/shown_matrices.hpp"

#include <algorithm>
#include <cstring>

#include "tensor/elements.hpp"

namespace attn {

ShownMatrices::ShownMatrices(std::size_t count) : count_(count) {}

Tensor ShownMatrices::copied(const Tensor& matrix) {
  if (!matrix) return matrix;
  const std::size_t bytes = matrix.size() * size_of(matrix.dtype());
  if (!room_) {
    size_ = count_ * bytes;
    room_ = new_elements<std::byte>(size_);
  }
  std::shared_ptr<std::byte> owner = room_;
  std::byte* to = room_.get() + used_;
  if (bytes > size_ - used_) {
    owner = new_elements<std::byte>(bytes);
    to = owner.get();
  } else {
    // The next one begins where any number may.
    constexpr std::size_t line = 64;
    used_ = std::min(size_, (used_ + bytes + line - 1) / line * line);
  }
  std::memcpy(to, matrix.bytes(), bytes);
  return Tensor::borrowed(matrix.shape(), matrix.dtype(), to, owner);
}

}  // namespace attn
