#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/spec.hpp"

#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "kernels/row_program.hpp"

namespace attn {

/// The place where an expression acts: it decides which names are known, and the result's type.
enum class ExpressionUse { score, where, weight };

/// One cell of an attention, by the names of expressions.
struct ExpressionCell {
  double given = 0;  ///< s or p
  std::size_t b = 0, h = 0, i = 0, j = 0;
  std::ptrdiff_t offset = 0;
  std::span<const double> query = {}, key = {};  ///< the rows that dot(q, k) compares
};

/// Derivatives of an expression by what changes with the inputs.
struct ExpressionSlopes {
  double given = 0, dot = 0, query_norm = 0, key_norm = 0, distance = 0;
};

/// An expression as a tree with its tables. Truths are the numbers 0 and 1.
class ExpressionTree {
 public:
  /// Throws Error(input) at `pointer`, with the text and a caret below the place, or at the table's
  /// "/tables/NAME". Sizes of the attention are the values of Lq, Lk, H and d.
  ExpressionTree(const Expression& expression, ExpressionUse use, const std::string& pointer,
                 const Geometry& geometry);

  /// A fault of one cell: an index outside its table.
  struct Fault {
    std::string problem;  ///< empty = none
    std::size_t at = 0;   ///< place in the text
  };

  /// The value of one cell. After a fault it is NaN.
  double value(const ExpressionCell& cell, Fault& fault) const;
  /// The value with its derivatives; those of steps and indices are 0.
  double value(const ExpressionCell& cell, ExpressionSlopes& slopes) const;

  /// The text with the numbers of a cell in place of names, elements of tables and what compares
  /// rows: "0.5 - 0.1 * abs(2 - 1)".
  std::string with_numbers(const ExpressionCell& cell) const;

  /// Whether it compares rows of queries and keys.
  bool reads_rows() const noexcept { return reads_rows_; }
  /// Whether the value depends on the head.
  bool reads_head() const noexcept { return reads_head_; }
  std::size_t size() const noexcept { return nodes_.size(); }
  const std::string& pointer() const noexcept { return pointer_; }
  const std::string& text() const noexcept { return text_; }

 private:
  friend class ExpressionParser;
  friend class ExpressionRows;
  void put_numbers(const ExpressionCell& cell, std::size_t which, std::size_t& done,
                   std::string& to) const;
  enum class Operation : std::uint8_t;
  struct Node {
    Operation operation{};
    bool truth = false;
    std::size_t at = 0, end = 0;       ///< place in the text
    double number = 0;                 ///< of a constant
    std::size_t row = 0;               ///< of the tables, or of the functions
    std::vector<std::size_t> of = {};  ///< operands
  };
  struct Table {
    std::string name;
    Tensor numbers;  ///< float64
  };
  template <class Number>
  struct Pass;

  std::string text_, pointer_;
  std::vector<Table> tables_;
  std::vector<Node> nodes_;
  std::size_t root_ = 0;
  bool reads_rows_ = false, reads_head_ = false;
};

/// Throws Error(input) at "/tables/NAME" for a table whose name is no name or known already, or
/// that has no element or more than four axes, and at its element for an integer beyond ±2⁵³.
void check_tables(const Expression& expression);

/// The error about an integer of a table that double precision may round.
Error rounded_integer(const std::string& number, const std::string& where);

/// The first faulty cell of an expression by (b, h, i, j), whatever the order of computation.
class ExpressionFaults {
 public:
  void note(const ExpressionCell& cell, const ExpressionTree::Fault& fault);
  /// Throws Error(input) if a cell was noted.
  void check(const ExpressionTree& tree) const;

 private:
  mutable std::mutex mutex_;
  std::optional<std::vector<std::size_t>> first_;
  ExpressionTree::Fault fault_;
};

/// The length of a row, as norm(q) and norm(k) have it.
double length_of(std::span<const double> row);

/// The rows that expressions compare: queries and keys, past ones included.
struct ComparedRows {
  HeadRows<double> query, key;
  std::size_t group = 1;  ///< query heads per key head

  ComparedRows() = default;
  ComparedRows(const Sequences& sequences, const Geometry& geometry);

  void put(ExpressionCell& cell) const {
    if (query.width() == 0) return;
    cell.query = query(cell.b, cell.h, cell.i);
    cell.key = key(cell.b, cell.h / group, cell.j);
  }
  /// norm(k) of all keys that a query head sees.
  std::span<const double> key_lengths(std::size_t batch, std::size_t head) const {
    const std::size_t keys = key.length();
    return std::span(lengths_).subspan((batch * key_heads_ + head / group) * keys, keys);
  }

 private:
  std::size_t key_heads_ = 1;
  std::vector<double> lengths_;  ///< [batch, key heads, keys]
};

/// An expression of scores or weights, cell by cell by its definition; or none.
class CellExpression {
 public:
  /// Throws Error(input) as ExpressionTree does. Keeps a reference to the rows, which it compares.
  CellExpression(const Expression& expression, ExpressionUse use, const char* pointer,
                 const Geometry& geometry, const ComparedRows& rows);

  explicit operator bool() const { return tree_.has_value(); }

  /// Replaces the numbers of a row, whose first cell is given; those of cells that are not seen
  /// only if `all`. Their faults do not count.
  void replace(ExpressionCell cell, std::span<double> row,
               const std::function<bool(std::size_t)>& seen, bool all);

  /// Throws Error(input) with the place of the first fault, if there was one.
  void check() const;

 private:
  std::optional<ExpressionTree> tree_;
  const ComparedRows& rows_;
  ExpressionFaults faults_;
  bool score_;
};

enum class ExpressionTree::Operation : std::uint8_t {
  constant,
  given,
  b,
  h,
  i,
  j,
  offset,
  dot,
  query_norm,
  key_norm,
  distance,
  element,
  power,
  negative,
  opposite,
  times,
  over,
  floor_over,
  remainder,
  plus,
  minus,
  less,
  at_most,
  more,
  at_least,
  equal,
  unequal,
  both,
  either,
  choice,
  function,
};

inline constexpr std::size_t most_parts_of_expression = 512;

/// A function of expressions: of one number, or one that chooses among its arguments.
struct ExpressionFunction {
  std::string_view name;
  std::size_t least, most;  ///< number of arguments
  double (*value)(double x);
  double (*slope)(double x, double y);  ///< derivative at x, where the value is y
  /// Index of the argument that is the value, instead of `value` and `slope`.
  std::size_t (*chosen)(std::span<const double> arguments) = nullptr;
  /// The operation on rows: without one of its own, `value` is applied to each number. Those that
  /// choose take their arguments two by two, of three the last one from above.
  kernels::RowOperation rows = kernels::RowOperation::applied;
  /// A bound of the derivative's absolute value; infinity for steps too.
  double steepness = std::numeric_limits<double>::infinity();
};

/// The functions of expressions.
std::span<const ExpressionFunction> expression_functions() noexcept;

/// The part of an expression around a place, with a caret below the place.
std::string with_caret(const std::string& text, std::size_t at);

}  // namespace attn
