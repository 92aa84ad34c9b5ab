#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

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

}  // namespace attn
