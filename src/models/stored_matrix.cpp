#include "models/stored_matrix.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attn {

StoredMatrix::StoredMatrix(RawArray stored, bool transposed)
    : stored_(std::move(stored)),
      transposed_(transposed),
      columns_(stored_.shape[transposed ? 0 : 1]),
      order_(stored_.shape[transposed ? 1 : 0]) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

StoredMatrix StoredMatrix::rows(std::size_t first, std::size_t count) const {
  StoredMatrix part = *this;
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
  part.order_.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  return part;
}

StoredMatrix StoredMatrix::picked(const std::vector<std::size_t>& rows) const {
  StoredMatrix part = *this;
  part.order_.clear();
  for (const std::size_t row : rows) part.order_.push_back(order_[row]);
  return part;
}

template <class T>
void StoredMatrix::widen_rows(std::size_t first, std::size_t count, std::size_t stride,
                              T* to) const {
  const std::size_t element = size_of(stored_.type), stored_width = stored_.shape[1];
  const auto at = [&](std::size_t row, std::size_t column) {
    return stored_.bytes.data() + (row * stored_width + column) * element;
  };
  if (!transposed_) {
    for (std::size_t i = 0; i < count; ++i) {
      widen(stored_.type, at(order_[first + i], 0), columns_, to + i * stride);
    }
    return;
  }
  // Runs of neighbouring columns, which are few: those of a part of a fused projection.
  for (std::size_t i = 0; i < count;) {
    std::size_t end = i + 1;
    while (end < count && order_[first + end] == order_[first + end - 1] + 1) ++end;
    for (std::size_t k = 0; k < columns_; ++k) {
      widen(stored_.type, at(k, order_[first + i]), end - i, to + k * stride + i);
    }
    i = end;
  }
}

MatrixRows StoredMatrix::source() const {
  const auto make = [this](std::size_t first, std::size_t count, std::size_t stride, auto* to) {
    widen_rows(first, count, stride, to);
  };
  return {order_.size(), columns_, transposed_, make, make};
}

Tensor apply(const StoredLinear& linear, const Tensor& x, std::size_t threads) {
  return apply(linear.weight.source(), linear.bias, x, threads);
}

}  // namespace attn
