#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "attn/tensor.hpp"

#include "kernels/few_row_product.hpp"

namespace attn {

class KeptMatrix;

/// Rows of W in the type of the products, in memory or made on demand: MatrixRows of T.
template <class T>
struct ProductRows {
  std::size_t count = 0, width = 0;
  bool side_by_side = false, bfloat16 = false;
  const T* in_memory = nullptr;
  std::size_t stride = 0;
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, T* to)> make;
  /// Numbers of W where they are stored, as in MatrixRows.
  kernels::StoredNumber stored =
      std::is_same_v<T, float> ? kernels::StoredNumber::float32 : kernels::StoredNumber::float64;
  std::function<void(std::size_t first, std::size_t count, const std::byte** rows)> places = {};
  const std::byte* lines = nullptr;
  KeptMatrix* kept = nullptr;  ///< where its packed rows are kept; null = nowhere

  /// Whether products of a few rows may read it without packing.
  bool takes_few() const { return !side_by_side || lines != nullptr; }
};

/// One product y = x Wᵀ + b with its epilogue.
template <class T>
struct ProductTask {
  ProductRows<T> rows;
  Tensor bias;  ///< of T; may be absent
  std::function<void(std::size_t at, std::size_t count, T* y)> epilogue;
  std::shared_ptr<T> y;  ///< [rows of x, rows.count]

  /// The bias of the columns from `first` on; null without a bias.
  const T* bias_from(std::size_t first) const {
    return bias ? bias.template values<T>().data() + first : nullptr;
  }
};

/// Computes all tasks for x [rows,width], each W packed for vectors or for matrix tiles. T is float
/// or double. The bits do not depend on the number of threads.
template <class T>
void multiply_packed(std::vector<ProductTask<T>>& tasks, const T* x, std::size_t rows,
                     std::size_t threads);

}  // namespace attn
