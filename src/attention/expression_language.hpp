#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "attention/expression.hpp"
#include "kernels/row_program.hpp"

namespace attn {

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
