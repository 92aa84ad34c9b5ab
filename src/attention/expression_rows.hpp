#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/expression.hpp"
#include "kernels/row_program.hpp"

namespace attn {

/// An expression as steps over pieces of queries and keys, which give in double precision what
/// ExpressionTree::value() gives cell by cell. Both sides of ?: are computed, and the place of an
/// index outside its table is kept only where it decides.
class ExpressionRows {
 public:
  /// Keeps a reference to the tree and its tables.
  ExpressionRows(const ExpressionTree& tree, ExpressionUse use, const Geometry& geometry);

  /// A bound of |∂value/∂s|; infinity where none is known.
  double steepness() const noexcept { return steepness_; }

  /// The numbers of one thread.
  class Registers {
   public:
    explicit Registers(const ExpressionRows& rows);

    /// The numbers s or p of the cells of a piece, written before values().
    double* given() noexcept { return numbers_[0]; }

   private:
    friend class ExpressionRows;
    std::shared_ptr<double> room_;  ///< whole cache lines
    std::vector<double*> numbers_;
    std::vector<const double*> keys_;  ///< starts of the rows of a piece
    bool ready_ = false;
    ExpressionCell last_;  ///< the cell whose shared numbers are there
    kernels::RowPiece last_piece_{};
  };

  /// The values of the cells of a piece, whose first query is the row's: NaN after a fault. `rows`
  /// has what dot(q, k) compares, or is null.
  std::span<const double> values(Registers& registers, const ExpressionCell& row,
                                 const kernels::RowPiece& piece, const ComparedRows* rows) const;

  /// Puts value · factors.narrow for the cells s / factors.widen of a piece at
  /// cells[r · stride + j], in one pass and to the same bits as values(), where the expression is a
  /// sum, a difference or a product of s and one number. Returns false, with the cells as they
  /// were, for others and for numbers that are not finite in T.
  template <class T>
  bool replace(Registers& registers, const ExpressionCell& row, const kernels::RowPiece& piece,
               const ComparedRows* rows, const kernels::RowFactors& factors, T* cells,
               std::size_t stride) const;

 private:
  class Compiler;
  using Index = std::uint32_t;
  /// The indices that a number depends on: none, sample and head, these and the query, the key, the
  /// distance of both, or both. That of two numbers has the bits of both.
  enum class Level : std::uint8_t { all = 0, head = 1, query = 3, key = 5, cell = 7, distance = 9 };
  struct Constant {
    Index to;
    double number;
  };
  struct Named {
    Index to;
    std::uint8_t operation;  ///< of the tree
  };
  void name_shared(Registers& registers, const ExpressionCell& row, const ComparedRows* rows,
                   std::size_t count) const;
  void compare(Registers& registers, const ExpressionCell& row, const kernels::RowPiece& piece,
               const ComparedRows* rows) const;
  void prepare(Registers& registers, const ExpressionCell& row, const kernels::RowPiece& piece,
               const ComparedRows* rows) const;
  void compute(Registers& registers, Level level, const kernels::RowPiece& piece) const;

  std::vector<std::uint8_t> varies_;  ///< per register; register 0 holds s or p
  std::vector<Constant> constants_;
  std::vector<Named> shared_names_;          ///< b, h, i, offset, norm(q)
  std::vector<Named> compared_names_;        ///< dot(q, k), distance(q, k), norm(k)
  std::vector<kernels::RowStep> steps_[10];  ///< by level
  Index result_ = 0;
  bool joins_ = false;  ///< a cell takes one sum, difference or product of s and another number
  double steepness_ = 0;
};

/// An expression with its steps.
struct CompiledExpression {
  CompiledExpression(const Expression& expression, ExpressionUse use, const std::string& pointer,
                     const Geometry& geometry)
      : tree(expression, use, pointer, geometry), rows(tree, use, geometry) {}
  CompiledExpression(const CompiledExpression&) = delete;
  CompiledExpression& operator=(const CompiledExpression&) = delete;

  ExpressionTree tree;
  ExpressionRows rows;
};

/// The expressions that act on scores and weights.
struct OwnExpressions {
  OwnExpressions(const AttentionOptions& options, const Geometry& geometry);

  bool reads_rows() const {
    return (score && score->tree.reads_rows()) || (weight && weight->tree.reads_rows());
  }
  /// Whether single precision of scores and weights is enough for what is made of them.
  bool fit_single() const;

  std::optional<CompiledExpression> score, weight;
};

/// Registers that are lent to threads.
class RegisterPool {
 public:
  explicit RegisterPool(const ExpressionRows& rows) : rows_(rows) {}

  std::unique_ptr<ExpressionRows::Registers> take();
  void give_back(std::unique_ptr<ExpressionRows::Registers> registers);

 private:
  const ExpressionRows& rows_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ExpressionRows::Registers>> free_;
};

}  // namespace attn
