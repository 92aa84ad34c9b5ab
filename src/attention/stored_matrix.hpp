#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "attention/linear.hpp"

namespace attn {

/// The matrix W [out,in] of a product y = x Wᵀ, in whatever form a document or a checkpoint holds
/// it: any type of number, rows or columns one after the other, all of the rows or some. Products
/// convert rows while they pack them, so that no second copy of the matrix is made.
class StoredMatrix {
 public:
  StoredMatrix() = default;
  /// A matrix of rank 2, [out,in], or [in,out] if `transposed`. Its elements need not be aligned.
  explicit StoredMatrix(Tensor stored, bool transposed = false);

  explicit operator bool() const noexcept { return count_ > 0; }
  Shape shape() const { return {count_, columns_}; }

  /// Rows `first` … `first + count` − 1.
  StoredMatrix rows(std::size_t first, std::size_t count) const;
  /// The rows of these numbers, in this order.
  StoredMatrix picked(const std::vector<std::size_t>& rows) const;

  /// The matrix as products read it. It refers to this object, which must outlive it.
  MatrixRows source() const;

  /// One row in double precision.
  std::vector<double> row(std::size_t at) const;
  /// All of it as a tensor of float64.
  Tensor tensor() const;

 private:
  std::size_t stored_row(std::size_t row) const {
    return order_.empty() ? first_ + row : order_[row];
  }
  const std::byte* bytes_at(std::size_t row, std::size_t column) const;
  template <class T>
  const T* in_memory() const;
  template <class T>
  void widen_rows(std::size_t first, std::size_t count, std::size_t stride, T* to) const;

  Tensor stored_;
  bool transposed_ = false;
  std::size_t columns_ = 0;
  // Its rows among those stored (columns, if transposed): `count_` from `first_` on, or those that
  // `order_` lists.
  std::size_t first_ = 0, count_ = 0;
  std::vector<std::size_t> order_;
};

/// y = x Wᵀ + b with a stored matrix.
struct StoredLinear {
  StoredMatrix weight;
  Tensor bias;  ///< [out]; may be absent

  StoredLinear() = default;
  StoredLinear(StoredMatrix own_weight, Tensor own_bias);
  StoredLinear(const Linear& linear);  // NOLINT(google-explicit-constructor): the same product

  explicit operator bool() const noexcept { return static_cast<bool>(weight); }
  /// The outputs of rows `first` … `first + count` − 1 alone.
  StoredLinear rows(std::size_t first, std::size_t count) const;
  StoredLinear picked(const std::vector<std::size_t>& rows) const;
};

/// x [..,in] gives [..,out] of its type, float32 or float64.
Tensor apply(const StoredLinear& linear, const Tensor& x, std::size_t threads,
             Epilogue epilogue = {});

/// Several products of the same x, which all threads share.
std::vector<Tensor> apply(std::span<const StoredLinear* const> all, const Tensor& x,
                          std::size_t threads);

}  // namespace attn
