#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "io/raw_array.hpp"

namespace attn {

/// A matrix of a checkpoint as y = x Wᵀ takes it, [out,in]: left in its file until its rows are
/// packed, so that no other copy of it is made.
class StoredMatrix {
 public:
  StoredMatrix() = default;
  /// A matrix in row-major order; `transposed` if the file holds it as [in,out].
  StoredMatrix(RawArray stored, bool transposed);

  explicit operator bool() const noexcept { return count_ > 0; }
  Shape shape() const { return {count_, columns_}; }

  /// Some of its rows.
  StoredMatrix rows(std::size_t first, std::size_t count) const;
  StoredMatrix picked(const std::vector<std::size_t>& rows) const;

  /// It must outlive what is made of it.
  MatrixRows source() const;

 private:
  std::size_t stored_row(std::size_t row) const {
    return order_.empty() ? first_ + row : order_[row];
  }
  const float* floats_in_memory() const;
  template <class T>
  void widen_rows(std::size_t first, std::size_t count, std::size_t stride, T* to) const;

  RawArray stored_;
  bool transposed_ = false;
  std::size_t columns_ = 0;
  // The stored rows (of a transposed one, columns) that it has: `count_` from `first_` on, or those
  // of the order.
  std::size_t first_ = 0, count_ = 0;
  std::vector<std::size_t> order_;
};

/// y = x Wᵀ + b.
struct StoredLinear {
  StoredMatrix weight;
  Tensor bias;  ///< may be absent
};

Tensor apply(const StoredLinear& linear, const Tensor& x, std::size_t threads, Finish finish = {});

}  // namespace attn
