#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "attn/layers.hpp"

namespace attn {

/// x [..,in] gives [..,out]: float32 in single precision, float64 in double. The sums are the same
/// to the last bit on any number of threads.
Tensor apply(const Linear& linear, const Tensor& x, std::size_t threads);

/// A matrix whose rows are made some at a time, such as one that a file holds in another type.
struct MatrixRows {
  std::size_t rows = 0, columns = 0;
  /// Whether rows are made side by side, as the columns of [columns, stride], and not one after the
  /// other, as [count, columns].
  bool side_by_side = false;
  /// Rows `first`…`first + count` − 1. Called by several threads at once.
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, float* to)> floats;
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, double* to)> doubles;
};

/// The same with a weight that is never there as a whole. `bias` may be absent.
Tensor apply(const MatrixRows& weight, const Tensor& bias, const Tensor& x, std::size_t threads);

/// The shape x [..,in] would give. Throws Error(input) at the parameter if weight and bias do not
/// fit each other or the input, or if the weight is missing. `name` is the layer's, such as "W_q";
/// `prefix` goes before it.
Shape check_linear(const Linear& linear, const Shape& x, const std::string& prefix,
                   const std::string& name);

}  // namespace attn
