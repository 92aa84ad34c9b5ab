#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attn/layers.hpp"

namespace attn {

/// A matrix, perhaps of another type than its products: some rows at a time are converted, so that
/// there is never a second copy of all of it.
struct MatrixRows {
  std::size_t rows = 0, columns = 0;
  /// Whether rows stand side by side, and are to be made so, as columns of [columns,stride], in
  /// place of one after the other, [count,columns].
  bool side_by_side = false;
  bool narrow = false;  ///< all numbers are bfloat16
  /// Makes rows `first` … `first + count` − 1. Called by several threads at once.
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, float* to)> floats;
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, double* to)> doubles;
  /// All of them, if they lie in memory as floats or as doubles, `stride` numbers from line to
  /// line.
  const float* in_memory = nullptr;
  const double* doubles_in_memory = nullptr;
  std::size_t stride = 0;
};

/// A function of numbers `at` … `at + count` − 1 of y, applied as soon as their sums are complete,
/// while they are in the cache. May be empty. Called by several threads at once.
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

/// The y of each product. All threads share the work of all of them.
std::vector<Tensor> apply(std::span<const Product> products, const Tensor& x, std::size_t threads);

/// The shape x [..,in] would give. Throws Error(input) at the parameter if weight and bias do not
/// fit each other or the input, or if the weight is missing. `name` is the layer's, such as "W_q";
/// `prefix` goes before it.
Shape check_linear(const Linear& linear, const Shape& x, const std::string& prefix,
                   const std::string& name);

}  // namespace attn
