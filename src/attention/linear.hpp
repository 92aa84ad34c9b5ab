#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attn/layers.hpp"

namespace attn {

/// A matrix that a file holds, perhaps in another type: its rows are made some at a time, and there
/// is never another copy of all of it.
struct MatrixRows {
  std::size_t rows = 0, columns = 0;
  /// Whether rows stand, and are made, side by side, as the columns of [columns, stride], and not
  /// one after the other, as [count, columns].
  bool side_by_side = false;
  bool narrow = false;  ///< whether all numbers are bfloat16
  /// Rows `first`…`first + count` − 1. Called by several threads at once.
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, float* to)> floats;
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, double* to)> doubles;
  /// All of them, if they are floats that lie in memory, `stride` numbers from line to line.
  const float* in_memory = nullptr;
  std::size_t stride = 0;
};

/// What is done with numbers of y as soon as their sums are there, while they are near: those
/// `at`…`at + count` − 1 of all. Empty, or called by several threads at once.
struct Finish {
  std::function<void(std::size_t at, std::size_t count, float* y)> floats;
  std::function<void(std::size_t at, std::size_t count, double* y)> doubles;
};

/// x [..,in] gives [..,out]: float32 in single precision, float64 in double. The sums are the same
/// to the last bit on any number of threads.
Tensor apply(const Linear& linear, const Tensor& x, std::size_t threads, const Finish& finish = {});

/// One of several products of the same x: y = x Wᵀ + b, then `finish`.
struct Product {
  MatrixRows weight;
  Tensor bias;  ///< may be absent
  Finish finish = {};
};

/// A y for each product, which all threads share.
std::vector<Tensor> apply(std::span<const Product> products, const Tensor& x, std::size_t threads);

/// The shape x [..,in] would give. Throws Error(input) at the parameter if weight and bias do not
/// fit each other or the input, or if the weight is missing. `name` is the layer's, such as "W_q";
/// `prefix` goes before it.
Shape check_linear(const Linear& linear, const Shape& x, const std::string& prefix,
                   const std::string& name);

}  // namespace attn
