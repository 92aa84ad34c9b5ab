#include "attention/expression.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <utility>

#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A number with its derivatives.
struct Dual {
  double value = 0;
  ExpressionSlopes slopes = {};
};

double value_of(double number) {
  return number;
}
double value_of(const Dual& number) {
  return number.value;
}

// f(x), `value` being its value and slope() its derivative, which is not computed for a number
// alone.
template <class Slope>
double applied(double, double value, const Slope&) {
  return value;
}
template <class Slope>
Dual applied(const Dual& x, double value, const Slope& slope) {
  const double factor = slope();
  // A derivative of 0 stays 0 whatever the factor is.
  const auto times = [&](double own) { return own == 0 ? 0 : own * factor; };
  const ExpressionSlopes& s = x.slopes;
  return {
      value,
      {times(s.given), times(s.dot), times(s.query_norm), times(s.key_norm), times(s.distance)}};
}

// The sum of the derivatives of a and b, with the value given.
double joined(double, double, double value) {
  return value;
}
Dual joined(const Dual& a, const Dual& b, double value) {
  const ExpressionSlopes &x = a.slopes, &y = b.slopes;
  return {value,
          {x.given + y.given, x.dot + y.dot, x.query_norm + y.query_norm, x.key_norm + y.key_norm,
           x.distance + y.distance}};
}

double product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

double distance(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t c = 0; c < a.size(); ++c) squares += (a[c] - b[c]) * (a[c] - b[c]);
  return std::sqrt(squares);
}

double sign(double x) {
  return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
}

double no_slope(double, double) {
  return 0;
}

// Index of the first number that is better than all before it, or that is not a number.
template <class Better>
std::size_t best(std::span<const double> of) {
  std::size_t at = 0;
  for (std::size_t n = 1; n < of.size() && !std::isnan(of[at]); ++n) {
    if (std::isnan(of[n]) || Better()(of[n], of[at])) at = n;
  }
  return at;
}

std::size_t clamped(std::span<const double> of) {
  const std::size_t raised = of[0] < of[1] ? 1 : 0;
  return of[raised] > of[2] ? 2 : raised;
}

double cosine(double x, double) {
  return std::cos(x);
}
double negative_sine(double x, double) {
  return -std::sin(x);
}
double logistic(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

using kernels::RowOperation;

// A row is all that a function needs, apart from its test. Without an operation on rows its value
// is computed number by number.
constexpr auto functions = std::to_array<ExpressionFunction>({
    {"abs", 1, 1, [](double x) { return std::abs(x); }, [](double x, double) { return sign(x); },
     nullptr, RowOperation::absolute, 1},
    {"min", 2, most_parts_of_expression, nullptr, nullptr, best<std::less<>>,
     RowOperation::smaller},
    {"max", 2, most_parts_of_expression, nullptr, nullptr, best<std::greater<>>,
     RowOperation::greater},
    {"exp", 1, 1, [](double x) { return std::exp(x); }, [](double, double y) { return y; }, nullptr,
     RowOperation::exp},
    {"exp2", 1, 1, [](double x) { return std::exp2(x); },
     [](double, double y) { return y * std::numbers::ln2; }, nullptr, RowOperation::exp2},
    {"log", 1, 1, [](double x) { return std::log(x); }, [](double x, double) { return 1 / x; },
     nullptr, RowOperation::log},
    {"log2", 1, 1, [](double x) { return std::log2(x); },
     [](double x, double) { return std::numbers::log2e / x; }, nullptr, RowOperation::log2},
    {"sqrt", 1, 1, [](double x) { return std::sqrt(x); }, [](double, double y) { return 0.5 / y; },
     nullptr, RowOperation::square_root},
    {"tanh", 1, 1, [](double x) { return std::tanh(x); },
     [](double, double y) { return 1 - y * y; }, nullptr, RowOperation::tanh, 1},
    {"sin", 1, 1, [](double x) { return std::sin(x); }, cosine, nullptr, RowOperation::sin, 1},
    {"cos", 1, 1, [](double x) { return std::cos(x); }, negative_sine, nullptr, RowOperation::cos,
     1},
    {"floor", 1, 1, [](double x) { return std::floor(x); }, no_slope, nullptr, RowOperation::floor},
    {"round", 1, 1, [](double x) { return std::nearbyint(x); }, no_slope, nullptr,
     RowOperation::round},
    {"sign", 1, 1, sign, no_slope, nullptr, RowOperation::sign},
    {"clamp", 3, 3, nullptr, nullptr, clamped, RowOperation::raised},
    {"sigmoid", 1, 1, logistic, [](double, double y) { return y * (1 - y); }, nullptr,
     RowOperation::sigmoid, 0.25},
});

}  // namespace

std::span<const ExpressionFunction> expression_functions() noexcept {
  return functions;
}

/// The recursion over a tree for one cell. Number is double, or Dual for derivatives too.
template <class Number>
struct ExpressionTree::Pass {
  const ExpressionTree& tree;
  const ExpressionCell& cell;
  Fault& fault;

  // A number that changes with the inputs by itself.
  static Number named(double value, [[maybe_unused]] double ExpressionSlopes::*slope) {
    Number result{value};
    if constexpr (std::is_same_v<Number, Dual>) result.slopes.*slope = 1;
    return result;
  }
  static Number truth(bool holds) { return {holds ? 1.0 : 0.0}; }

  Number of_rows(Operation operation) const {
    const std::span<const double> q = cell.query, k = cell.key;
    if (q.empty()) return {nan};
    if (operation == Operation::dot) return named(product(q, k), &ExpressionSlopes::dot);
    if (operation == Operation::query_norm)
      return named(length_of(q), &ExpressionSlopes::query_norm);
    if (operation == Operation::key_norm) return named(length_of(k), &ExpressionSlopes::key_norm);
    return named(distance(q, k), &ExpressionSlopes::distance);
  }

  Number element(const Node& node) const {
    const Table& table = tree.tables_[node.row];
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < node.of.size(); ++axis) {
      const double index = value_of(of(node.of[axis]));
      const std::size_t size = table.numbers.shape()[axis];
      if (!(index >= 0 && index < static_cast<double>(size) && index == std::floor(index))) {
        if (fault.problem.empty()) {
          fault.at = node.at;
          fault.problem =
              translated("the index {1} is outside the table \"{2}\" {3}", number_text(index),
                         table.name, attn::text(table.numbers.shape()));
        }
        return {nan};
      }
      at = at * size + static_cast<std::size_t>(index);
    }
    return {table.numbers.values<double>()[at]};
  }

  Number function(const Node& node) const {
    const ExpressionFunction& row = functions[node.row];
    if (row.chosen == nullptr) {
      const Number argument = of(node.of[0]);
      const double x = value_of(argument), y = row.value(x);
      return applied(argument, y, [&] { return row.slope(x, y); });
    }
    std::vector<Number> arguments;
    std::vector<double> values;
    for (const std::size_t argument : node.of) {
      arguments.push_back(of(argument));
      values.push_back(value_of(arguments.back()));
    }
    return arguments[row.chosen(values)];
  }

  // An operation on numbers alone, whose slopes are those of both operands.
  Number arithmetic(const Node& node) const {
    const Number a = of(node.of[0]);
    const double x = value_of(a);
    if (node.operation == Operation::negative) return applied(a, -x, [] { return -1.0; });
    const Number b = of(node.of[1]);
    const double y = value_of(b);
    switch (node.operation) {
      case Operation::power: {
        const double value = std::pow(x, y);
        return joined(applied(a, value, [&] { return y * std::pow(x, y - 1); }),
                      applied(b, value, [&] { return value * std::log(x); }), value);
      }
      case Operation::times: {
        const double value = x * y;
        return joined(applied(a, value, [&] { return y; }), applied(b, value, [&] { return x; }),
                      value);
      }
      case Operation::over: {
        const double value = x / y;
        return joined(applied(a, value, [&] { return 1 / y; }),
                      applied(b, value, [&] { return -value / y; }), value);
      }
      case Operation::remainder: {
        const double value = kernels::floor_remainder(x, y);
        return joined(a, applied(b, value, [&] { return -kernels::floor_quotient(x, y); }), value);
      }
      case Operation::plus:
        return joined(a, b, x + y);
      default:  // minus
        return joined(a, applied(b, y, [] { return -1.0; }), x - y);
    }
  }

  Number of(std::size_t which) const {
    const Node& node = tree.nodes_[which];
    const auto operand = [&](std::size_t n) { return of(node.of[n]); };
    const auto number = [&](std::size_t n) { return value_of(operand(n)); };
    switch (node.operation) {
      case Operation::constant:
        return {node.number};
      case Operation::given:
        return named(cell.given, &ExpressionSlopes::given);
      case Operation::b:
        return {static_cast<double>(cell.b)};
      case Operation::h:
        return {static_cast<double>(cell.h)};
      case Operation::i:
        return {static_cast<double>(cell.i)};
      case Operation::j:
        return {static_cast<double>(cell.j)};
      case Operation::offset:
        return {static_cast<double>(cell.offset)};
      case Operation::dot:
      case Operation::query_norm:
      case Operation::key_norm:
      case Operation::distance:
        return of_rows(node.operation);
      case Operation::element:
        return element(node);
      case Operation::function:
        return function(node);
      case Operation::power:
      case Operation::negative:
      case Operation::times:
      case Operation::over:
      case Operation::remainder:
      case Operation::plus:
      case Operation::minus:
        return arithmetic(node);
      case Operation::choice:
        return number(0) != 0 ? operand(1) : operand(2);
      case Operation::floor_over:
        return {kernels::floor_quotient(number(0), number(1))};
      case Operation::opposite:
        return truth(number(0) == 0);
      case Operation::less:
        return truth(number(0) < number(1));
      case Operation::at_most:
        return truth(number(0) <= number(1));
      case Operation::more:
        return truth(number(0) > number(1));
      case Operation::at_least:
        return truth(number(0) >= number(1));
      case Operation::equal:
        return truth(number(0) == number(1));
      case Operation::unequal:
        return truth(number(0) != number(1));
      case Operation::both:
        return truth(number(0) != 0 && number(1) != 0);
      case Operation::either:
        return truth(number(0) != 0 || number(1) != 0);
    }
    return {nan};
  }
};

double ExpressionTree::value(const ExpressionCell& cell, Fault& fault) const {
  const double result = Pass<double>{*this, cell, fault}.of(root_);
  return fault.problem.empty() ? result : nan;
}

double ExpressionTree::value(const ExpressionCell& cell, ExpressionSlopes& slopes) const {
  Fault fault;
  const Dual result = Pass<Dual>{*this, cell, fault}.of(root_);
  slopes = result.slopes;
  return result.value;
}

// The nodes stand in the order of their places in the text, but for operators, which have none of
// their own.
void ExpressionTree::put_numbers(const ExpressionCell& cell, std::size_t which, std::size_t& done,
                                 std::string& to) const {
  const Node& node = nodes_[which];
  const bool leaf = node.of.empty() || node.operation == Operation::element;
  if (!leaf) {
    for (const std::size_t of : node.of) put_numbers(cell, of, done, to);
    return;
  }
  Fault fault;
  const double number = Pass<double>{*this, cell, fault}.of(which);
  to += text_.substr(done, node.at - done);
  const std::string shown = with_short_exponent(with_digits(number, 4));
  to += number < 0 ? "(" + shown + ")" : shown;
  done = node.end;
}

std::string ExpressionTree::with_numbers(const ExpressionCell& cell) const {
  std::string result;
  std::size_t done = 0;
  put_numbers(cell, root_, done, result);
  return result + text_.substr(done);
}

double length_of(std::span<const double> row) {
  double squares = 0;
  for (const double x : row) squares += x * x;
  return std::sqrt(squares);
}

ComparedRows::ComparedRows(const Sequences& sequences, const Geometry& geometry)
    : query(sequences.query, geometry.heads),
      key(sequences.key_or_query(), geometry.kv_heads, sequences.past_key),
      group(geometry.heads / geometry.kv_heads),
      key_heads_(geometry.kv_heads) {
  if (query.width() == 0) return;
  lengths_.reserve(geometry.batch * key_heads_ * key.length());
  for (std::size_t b = 0; b < geometry.batch; ++b) {
    for (std::size_t head = 0; head < key_heads_; ++head) {
      for (std::size_t j = 0; j < key.length(); ++j) lengths_.push_back(length_of(key(b, head, j)));
    }
  }
}

void ExpressionFaults::note(const ExpressionCell& cell, const ExpressionTree::Fault& fault) {
  std::vector<std::size_t> place{cell.b, cell.h, cell.i, cell.j};
  const std::lock_guard lock(mutex_);
  if (first_ && *first_ <= place) return;
  first_ = std::move(place);
  fault_ = fault;
}

void ExpressionFaults::check(const ExpressionTree& tree) const {
  const std::lock_guard lock(mutex_);
  if (!first_) return;
  const std::string place =
      "b=" + std::to_string((*first_)[0]) + ", h=" + std::to_string((*first_)[1]) +
      ", i=" + std::to_string((*first_)[2]) + ", j=" + std::to_string((*first_)[3]);
  throw input_error(
      translated("{1} at {2}", fault_.problem, place) + with_caret(tree.text(), fault_.at),
      tree.pointer(), translated("hide such cells by the mask, or choose another value by ? :"));
}

CellExpression::CellExpression(const Expression& expression, ExpressionUse use, const char* pointer,
                               const Geometry& geometry, const ComparedRows& rows)
    : rows_(rows), score_(use == ExpressionUse::score) {
  if (expression) tree_.emplace(expression, use, pointer, geometry);
}

void CellExpression::replace(ExpressionCell cell, std::span<double> row,
                             const std::function<bool(std::size_t)>& seen, bool all) {
  for (std::size_t j = 0; j < row.size(); ++j) {
    const bool counts = seen(j);
    if (!counts && !all) continue;
    cell.given = row[j];
    cell.j = j;
    if (tree_->reads_rows()) rows_.put(cell);
    ExpressionTree::Fault fault;
    row[j] = tree_->value(cell, fault);
    if (!counts || !std::isnan(row[j])) continue;
    if (fault.problem.empty()) {
      fault.problem = score_ ? translated("the score is nan") : translated("the weight is nan");
    }
    faults_.note(cell, fault);
  }
}

void CellExpression::check() const {
  if (tree_) faults_.check(*tree_);
}

}  // namespace attn
