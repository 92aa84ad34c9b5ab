#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// A tensor seen as [batch, heads, length, width] of rows of T.
template <class T>
class Rows {
 public:
  Rows() = default;

  /// A tensor of rank 4, or one of rank 2 or 3 whose last axis holds `heads` heads side by side.
  Rows(const Tensor& tensor, std::size_t heads) : numbers_(tensor.converted(dtype_of<T>())) {
    const Shape& shape = tensor.shape();
    const std::size_t rank = shape.size();
    length_ = shape[rank - 2];
    stride_ = shape[rank - 1];
    if (rank == 4) {
      head_stride_ = length_ * stride_;
      batch_stride_ = shape[1] * head_stride_;
    } else {
      head_stride_ = stride_ / heads;
      batch_stride_ = length_ * stride_;
    }
    if (rank < 3 || shape[0] == 1) batch_stride_ = 0;
  }

  std::size_t length() const { return length_; }
  std::size_t stride() const { return stride_; }

  const T* row(std::size_t batch, std::size_t head, std::size_t i) const {
    return numbers_.template values<T>().data() + batch * batch_stride_ + head * head_stride_ +
           i * stride_;
  }

  bool finite() const {
    const auto all = numbers_ ? numbers_.template values<T>() : std::span<const T>();
    return std::all_of(all.begin(), all.end(), [](T x) { return std::isfinite(x); });
  }

 private:
  Tensor numbers_;
  std::size_t length_ = 0, stride_ = 0, head_stride_ = 0, batch_stride_ = 0;
};

/// The rows of one key head: past ones first, then the present ones.
template <class T>
struct HeadRows {
  std::vector<const T*> keys, values;
};

}  // namespace attn
