#include "models/stored_matrix.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace attn {

StoredMatrix::StoredMatrix(RawArray stored, bool transposed)
    : stored_(std::move(stored)),
      transposed_(transposed),
      columns_(stored_.shape[transposed ? 0 : 1]),
      count_(stored_.shape[transposed ? 1 : 0]) {}

StoredMatrix StoredMatrix::rows(std::size_t first, std::size_t count) const {
  StoredMatrix part = *this;
  part.count_ = count;
  if (order_.empty()) {
    part.first_ = first_ + first;
  } else {
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
    part.order_.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return part;
}

StoredMatrix StoredMatrix::picked(const std::vector<std::size_t>& rows) const {
  StoredMatrix part = *this;
  part.count_ = rows.size();
  part.order_.clear();
  for (const std::size_t row : rows) part.order_.push_back(stored_row(row));
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
      widen(stored_.type, at(stored_row(first + i), 0), columns_, to + i * stride);
    }
    return;
  }
  // Runs of neighbouring columns, which are few: those of a part of a fused projection.
  for (std::size_t i = 0; i < count;) {
    std::size_t end = i + 1;
    while (end < count && stored_row(first + end) == stored_row(first + end - 1) + 1) ++end;
    for (std::size_t k = 0; k < columns_; ++k) {
      widen(stored_.type, at(k, stored_row(first + i)), end - i, to + k * stride + i);
    }
    i = end;
  }
}

// Null if they have to be widened, picked or moved to where a float may stand.
const float* StoredMatrix::floats_in_memory() const {
  const bool aligned = reinterpret_cast<std::uintptr_t>(stored_.bytes.data()) % alignof(float) == 0;
  if (stored_.type != ElementType::float32 || !aligned || !order_.empty()) return nullptr;
  const auto* numbers = reinterpret_cast<const float*>(stored_.bytes.data());
  return numbers + first_ * (transposed_ ? 1 : stored_.shape[1]);
}

MatrixRows StoredMatrix::source() const {
  const auto make = [this](std::size_t first, std::size_t count, std::size_t stride, auto* to) {
    widen_rows(first, count, stride, to);
  };
  MatrixRows rows{count_, columns_, transposed_, stored_.type == ElementType::bfloat16, make, make};
  rows.in_memory = floats_in_memory();
  rows.stride = stored_.shape[1];
  return rows;
}

Tensor apply(const StoredLinear& linear, const Tensor& x, std::size_t threads, Finish finish) {
  const Product product{linear.weight.source(), linear.bias, std::move(finish)};
  return apply(std::span(&product, 1), x, threads).front();
}

}  // namespace attn
