#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "attn/tensor.hpp"

#include "kernels/matrix_product.hpp"
#include "support/memory.hpp"

namespace attn {

/// The packed rows of one matrix, which the first product that needs them leaves for later ones.
class KeptMatrix {
 public:
  /// Layouts of packed rows: panels of floats or doubles, or for matrix tiles parts of floats or
  /// bfloat16 alone. Texts of few tokens need another one than long texts; each is kept.
  enum class Form { floats, doubles, parts, bfloat16 };

  /// `left`: bytes that may still be kept, which matrices share.
  explicit KeptMatrix(std::atomic<std::size_t>& left) : left_(left) {}

  /// All rows in that form; null if they are not complete.
  const void* find(Form form) const noexcept;

  /// Memory for all rows in that form, which the caller alone fills until it calls complete() or
  /// abandon(). Null if there is not enough left, or if it is filled already or by another thread.
  void* claim(Form form, std::size_t bytes) noexcept;
  void complete(Form form) noexcept;
  void abandon(Form form) noexcept;

 private:
  enum class State { empty, claimed, complete };
  struct Rows {
    std::atomic<State> state{State::empty};
    std::size_t bytes = 0;
    std::unique_ptr<void, FreeBlock> block;
  };

  Rows& of(Form form) { return rows_[static_cast<std::size_t>(form)]; }

  std::atomic<std::size_t>& left_;
  std::array<Rows, 4> rows_;
};

/// Packed matrices of a model whose texts pass it one after the other: packing a matrix takes as
/// long as multiplying some tens of rows by it. May be used by several threads.
class KeptPacking {
 public:
  /// `most`: bytes that are kept at most.
  explicit KeptPacking(std::size_t most) : left_(most) {}

  /// Rows `first` … `first + count` − 1 of the matrix of that name, for as long as this object
  /// lives.
  KeptMatrix& matrix(const std::string& name, std::size_t first, std::size_t count);

 private:
  std::atomic<std::size_t> left_;
  std::mutex guard_;
  std::map<std::tuple<std::string, std::size_t, std::size_t>, KeptMatrix> matrices_;
};

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
