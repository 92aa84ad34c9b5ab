#pragma once

#include <cstddef>
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

  explicit operator bool() const noexcept { return !order_.empty(); }
  Shape shape() const { return {order_.size(), columns_}; }

  /// Some of its rows.
  StoredMatrix rows(std::size_t first, std::size_t count) const;
  StoredMatrix picked(const std::vector<std::size_t>& rows) const;

  MatrixRows source() const;

 private:
  template <class T>
  void widen_rows(std::size_t first, std::size_t count, std::size_t stride, T* to) const;

  RawArray stored_;
  bool transposed_ = false;
  std::size_t columns_ = 0;
  std::vector<std::size_t> order_;  ///< the stored rows (of a transposed one, columns) that it has
};

/// y = x Wᵀ + b.
struct StoredLinear {
  StoredMatrix weight;
  Tensor bias;  ///< may be absent
};

Tensor apply(const StoredLinear& linear, const Tensor& x, std::size_t threads);

}  // namespace attn
