#pragma once

#include <cstddef>
#include <span>

#include "attn/tensor.hpp"

namespace attn {

/// The rows of a tensor [B,H,L,D], or of one [L,D] or [B,L,D] whose last axis holds `heads` heads
/// side by side, as doubles. A batch axis of 1 is repeated.
class HeadRows {
 public:
  HeadRows() = default;
  HeadRows(const Tensor& tensor, std::size_t heads)
      : numbers_(tensor.converted(DType::float64)), heads_(heads) {
    const Shape& shape = tensor.shape();
    const std::size_t rank = shape.size();
    length_ = shape[rank - 2];
    width_ = shape[rank - 1];
    joined_ = rank < 4;
    if (joined_) {
      width_ /= heads;
    } else {
      heads_ = shape[1];
    }
    repeated_ = rank < 3 || shape[0] == 1;
  }

  std::size_t length() const noexcept { return length_; }
  std::size_t width() const noexcept { return width_; }

  std::span<const double> operator()(std::size_t batch, std::size_t head, std::size_t row) const {
    const std::size_t sample = repeated_ ? 0 : batch;
    const std::size_t at = joined_ ? (sample * length_ + row) * heads_ + head
                                   : (sample * heads_ + head) * length_ + row;
    return numbers_.values<double>().subspan(at * width_, width_);
  }

 private:
  Tensor numbers_;
  std::size_t heads_ = 1, length_ = 0, width_ = 0;
  bool joined_ = true, repeated_ = true;
};

}  // namespace attn
