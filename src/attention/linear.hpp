#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "kernels/matrix_product.hpp"
#include "kernels/row_functions.hpp"
#include "tensor/block_numbers.hpp"

namespace attn {

class KeptMatrix;
class KeptPacking;

/// The matrix W of a product, perhaps of another type than its numbers: rows are converted some at
/// a time, so that there is never a second copy of all of it.
struct MatrixRows {
  std::size_t rows = 0, columns = 0;
  /// Whether rows are side by side in memory and in what is made of them, as columns of
  /// [columns,stride]; else one after the other, [count,columns].
  bool side_by_side = false;
  bool bfloat16 = false;  ///< whether all numbers are bfloat16
  /// Makes rows `first` … `first + count` − 1. Called by several threads at once.
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, float* to)> floats;
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, double* to)> doubles;
  /// All rows, if they are in memory as floats or as doubles, with lines `stride` numbers apart;
  /// else null.
  const float* in_memory = nullptr;
  const double* doubles_in_memory = nullptr;
  std::size_t stride = 0;
  /// For products of a few rows in float32, which read W where it is stored: the type there, and
  /// either the places of rows, or the first line of rows side by side, in bytes. Both are empty
  /// where W cannot be read so.
  kernels::StoredNumber stored = kernels::StoredNumber::float32;
  std::function<void(std::size_t first, std::size_t count, const std::byte** rows)> places = {};
  const std::byte* lines = nullptr;
  KeptMatrix* kept = nullptr;  ///< where its packed rows are kept; null = nowhere
};

/// The last step of a product: a function of numbers `at` … `at + count` − 1 of y, applied as soon
/// as their sums are complete, while they are in the cache. May be empty. Called by several threads
/// at once.
struct Epilogue {
  std::function<void(std::size_t at, std::size_t count, float* y)> floats;
  std::function<void(std::size_t at, std::size_t count, double* y)> doubles;
};

/// y [..,out] of x [..,in]: float32 in single precision, float64 in double. The bits do not depend
/// on the number of threads.
Tensor apply(const Linear& linear, const Tensor& x, std::size_t threads,
             const Epilogue& epilogue = {});

/// One of several products of the same x: y = x Wᵀ + b, then `epilogue`.
struct Product {
  MatrixRows weight;
  Tensor bias;  ///< may be absent
  Epilogue epilogue = {};
};

/// The y of each product. All threads share the work of all of them.
std::vector<Tensor> apply(std::span<const Product> products, const Tensor& x, std::size_t threads);

/// A function of a feed-forward and its constant, if kernels::Curve has one.
struct ActivationCurve {
  kernels::Curve curve;
  double constant = 0;
};

/// f(x) in double precision.
double activated(double x, const ActivationCurve& by);
/// 1 / (1 + e⁻ˣ)
inline double sigmoid(double x) noexcept {
  return 1 / (1 + std::exp(-x));
}

/// Replace a product by its activation, by the activation of `gates` times the product, by its sum
/// with `base`. Both tensors have the product's shape and type.
Epilogue activating(const ActivationCurve& by);
Epilogue gating(const Tensor& gates, const ActivationCurve& by);
Epilogue adding(const Tensor& base);

/// The shape of y for x of that shape, [..,in]. Throws Error(input) at the parameter if weight and
/// bias do not fit each other or the input, or if the weight is missing. `name` is the layer's,
/// such as "W_q"; `prefix` goes before it.
Shape check_linear(const Linear& linear, const Shape& x, const std::string& prefix,
                   const std::string& name);

// projected_rows.cpp

/// Bounds of the change of a score per unit of length that a row it is computed from changes by.
struct Steepness {
  std::size_t heads = 1;     ///< each score is computed from the numbers of one of them
  double most = 0;           ///< of all rows
  std::vector<double> rows;  ///< of each row; empty = `most` for all
};

/// Makes rows y = x Wᵀ + b [n,out] that scores are computed from as precise as these need: where
/// rounding may move a score by more than 5·10⁻⁵ (docs/inside/numerics.md), rows are computed in
/// double precision and rounded once. x and y are float32. False if a score needs y in double
/// precision.
bool make_precise(Tensor& y, const Linear& linear, const Tensor& x, const Steepness& steepness,
                  std::size_t threads);

/// Rows x Wᵀ of keys or queries [..,in] as [n,out] in `dtype`, float32 or float64; float32 is made
/// precise for scores. Sets `precise` to false where float32 is not precise enough. `steepness` is
/// called after the product, for float32 alone.
Tensor projected_rows(const Tensor& x, const Tensor& W, const std::function<double()>& steepness,
                      DType dtype, std::size_t threads, bool& precise);

/// The length of the longest row of `width` numbers, in single precision from above. Rows that are
/// not finite are left out.
double longest_row(const Tensor& rows, std::size_t width, std::size_t threads);

/// Rows of a matrix that are stored in another way than number by number, such as blocks of few
/// bits with a common scale.
struct MadeRows {
  std::size_t rows = 0, columns = 0;
  /// Called by several threads at once.
  std::function<void(std::size_t row, float* to)> make;
  BlockRows in_blocks = {};  ///< the same rows, if blocks of ggml hold them
};

/// The matrix W [out,in] of a product y = x Wᵀ, in whatever form a document or a checkpoint holds
/// it: any type of number, rows or columns one after the other, all of the rows or some. Products
/// convert rows while they pack them, so that no second copy of the matrix is made.
class StoredMatrix {
 public:
  StoredMatrix() = default;
  explicit StoredMatrix(MadeRows made);
  /// A matrix of rank 2, [out,in], or [in,out] if `transposed`. Its elements need not be aligned.
  explicit StoredMatrix(Tensor stored, bool transposed = false);

  explicit operator bool() const noexcept { return count_ > 0; }
  Shape shape() const { return {count_, columns_}; }
  /// Whether its elements are float64.
  bool holds_doubles() const { return stored_ && stored_.dtype() == DType::float64; }

  /// Rows `first` … `first + count` − 1.
  StoredMatrix rows(std::size_t first, std::size_t count) const;
  /// The rows of these numbers, in this order.
  StoredMatrix picked(const std::vector<std::size_t>& rows) const;

  /// The matrix Wᵀ, which shares the numbers where they lie one row or column after the other.
  StoredMatrix turned() const;

  /// Has products keep the packed rows under this name, which no other matrix has there.
  void keep_packed(std::shared_ptr<KeptPacking> kept, std::string name) {
    kept_ = std::move(kept);
    kept_name_ = std::move(name);
  }

  /// The matrix as products read it. It refers to this object, which must outlive it.
  MatrixRows source() const;

  /// Rows of these numbers [rows,columns], in this order, as float32 or float64.
  Tensor rows_at(std::span<const std::int64_t> rows, DType dtype) const;
  /// One row in double precision.
  std::vector<double> row(std::size_t at) const;
  /// All of it as a tensor of float64.
  Tensor tensor() const;

 private:
  std::size_t stored_row(std::size_t row) const {
    return order_.empty() ? first_ + row : order_[row];
  }
  const std::byte* bytes_at(std::size_t row, std::size_t column) const;
  void set_places(MatrixRows& rows) const;
  template <class T>
  const T* in_memory() const;
  template <class T>
  void widen_rows(std::size_t first, std::size_t count, std::size_t stride, T* to) const;

  Tensor stored_;
  std::function<void(std::size_t row, float* to)> make_row_;  // in place of `stored_`
  BlockRows in_blocks_;
  bool transposed_ = false;
  std::size_t columns_ = 0;
  // Its rows among those stored (columns, if transposed): `count_` from `first_` on, or those that
  // `order_` lists.
  std::size_t first_ = 0, count_ = 0;
  std::vector<std::size_t> order_;
  std::shared_ptr<KeptPacking> kept_;
  std::string kept_name_;
};

/// Rows of both matrices in turn, the first of `even`, the first of `odd`, the second of `even`…
/// Both have the same shape.
StoredMatrix rows_in_turn(const StoredMatrix& even, const StoredMatrix& odd);

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
  /// b (W (a x) + bias) for the factors a and b, which are put into the weights.
  StoredLinear times(double of_input, double of_output) const;
};

/// x [..,in] gives [..,out] of its type, float32 or float64.
Tensor apply(const StoredLinear& linear, const Tensor& x, std::size_t threads,
             Epilogue epilogue = {});

/// Several products of the same x, which all threads share.
std::vector<Tensor> apply(std::span<const StoredLinear* const> all, const Tensor& x,
                          std::size_t threads);

/// The norm of x [..,D], float32 or float64; the result has its shape and type. Sums are taken in
/// double precision, to the same bits on any number of threads.
Tensor apply(const Norm& norm, const Tensor& x, double eps, std::size_t threads);

/// Throws Error(input) at the parameter if weight or bias are there and not [D]. `name` is the
/// norm's, such as "norm1"; `prefix` goes before it.
void check_layer_norm(const Norm& norm, std::size_t width, const std::string& prefix,
                      const std::string& name);

}  // namespace attn
