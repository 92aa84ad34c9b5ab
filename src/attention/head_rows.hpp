#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "attn/tensor.hpp"

#include "tensor/operations.hpp"

namespace attn {

/// Rows in T of a tensor [B,H,L,D], or of [L,D] or [B,L,D] with `heads` heads side by side in the
/// last axis; rows of a past come first. A batch axis of 1 is repeated.
template <class T>
class HeadRows {
 public:
  HeadRows() = default;
  HeadRows(const Tensor& present, std::size_t heads, const Tensor& past = {})
      : past_(past, heads), present_(present, heads) {}

  std::size_t length() const { return past_.length + present_.length; }  ///< with the past
  std::size_t width() const { return present_.width; }
  /// Numbers from one row of the present to the next.
  std::size_t stride() const { return present_.row_stride; }

  std::span<const T> operator()(std::size_t batch, std::size_t head, std::size_t row) const {
    return row < past_.length ? past_.row(batch, head, row)
                              : present_.row(batch, head, row - past_.length);
  }

  /// Writes the starts of `count` rows of a head from `first` on.
  void starts(std::size_t batch, std::size_t head, std::size_t first, std::size_t count,
              const T** to) const {
    for (const Part* part : {&past_, &present_}) {
      const std::size_t own = first < part->length ? std::min(count, part->length - first) : 0;
      if (own > 0) {
        const T* row = part->row(batch, head, first).data();
        for (std::size_t i = 0; i < own; ++i, row += part->row_stride) *to++ = row;
      }
      count -= own;
      first -= std::min(first, part->length);
    }
  }

  bool finite() const { return past_.finite() && present_.finite(); }

 private:
  struct Part {
    Part() = default;
    Part(const Tensor& tensor, std::size_t heads) : numbers(tensor.converted(dtype_of<T>())) {
      if (!tensor) return;
      all = numbers.template values<T>();
      const Shape& shape = tensor.shape();
      const std::size_t rank = shape.size();
      length = shape[rank - 2];
      row_stride = shape[rank - 1];
      width = rank == 4 ? row_stride : row_stride / heads;
      head_stride = rank == 4 ? length * row_stride : width;
      if (rank >= 3 && shape[0] > 1) batch_stride = tensor.size() / shape[0];
    }

    std::span<const T> row(std::size_t batch, std::size_t head, std::size_t i) const {
      return all.subspan(batch * batch_stride + head * head_stride + i * row_stride, width);
    }

    bool finite() const { return all_finite(all); }

    Tensor numbers;
    std::span<const T> all;  ///< of `numbers`, whose elements copies share
    std::size_t length = 0, width = 0, row_stride = 0, head_stride = 0, batch_stride = 0;
  };

  Part past_, present_;
};

}  // namespace attn
