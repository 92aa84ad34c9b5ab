#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "attention/expression.hpp"
#include "attention/expression_rows.hpp"

namespace attn {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using kernels::RowOperation;

// Bounds of a number. Known ones are finite, and the number is not NaN.
struct Bounds {
  double low = -infinity, high = infinity;
  bool whole = false;

  bool known() const { return std::isfinite(low) && std::isfinite(high); }
  double size() const { return std::max(std::abs(low), std::abs(high)); }
  // These bounds, if what they are made of is known.
  Bounds if_known(bool all) const { return all && known() ? *this : Bounds(); }
};

// x · y with 0 · ∞ = 0, for bounds.
double bound_product(double x, double y) {
  return x == 0 || y == 0 ? 0 : x * y;
}

}  // namespace

/// Makes the steps of a tree, one register for each number that differs.
class ExpressionRows::Compiler {
 public:
  using Operation = ExpressionTree::Operation;

  Compiler(ExpressionRows& rows, const ExpressionTree& tree, const Geometry& geometry)
      : rows_(rows), tree_(tree), geometry_(geometry) {}

  void compile(ExpressionUse use) {
    add_register(Level::cell, use == ExpressionUse::weight ? Bounds{0, 1} : Bounds(), 1);  // s or p
    const Index result = of(tree_.root_);
    // A piece is read with one number per cell.
    if (fault_ || registers_[result].level != Level::cell) {
      const Index fault = fault_ ? *fault_ : constant(0);
      const Index nan = constant(std::numeric_limits<double>::quiet_NaN());
      rows_.result_ =
          add_step(RowOperation::choice, {fault, nan, result}, {}, 0, nullptr, Level::cell);
    } else {
      rows_.result_ = result;
    }
    rows_.joins_ = joins_one_number();
    const double slope = registers_[result].slope;
    rows_.steepness_ = std::isnan(slope) ? infinity : slope;
  }

 private:
  // Whether a cell takes one sum, difference or product of s and what does not depend on s.
  bool joins_one_number() const {
    const auto& steps = rows_.steps_[static_cast<std::size_t>(Level::cell)];
    if (steps.size() != 1 || steps[0].to != rows_.result_) return false;
    const RowOperation operation = steps[0].operation;
    const bool joins = operation == RowOperation::plus || operation == RowOperation::minus ||
                       operation == RowOperation::times;
    return joins && (steps[0].of[0] == 0) != (steps[0].of[1] == 0);
  }

  struct Register {
    Level level;
    Bounds bounds;
    double slope;  ///< a bound of its derivative by s
    /// `query` or `key` if it is the index of one plus a whole number that all cells share.
    Level counts = Level::all;
  };
  // A condition under which a part of the tree decides.
  struct Condition {
    Index truth;
    bool wanted;
  };

  static Level join(Level a, Level b) {
    const auto both = static_cast<unsigned>(a) | static_cast<unsigned>(b);
    constexpr auto head = static_cast<unsigned>(Level::head);
    constexpr auto distance = static_cast<unsigned>(Level::distance);
    const bool more = (both & distance & ~head) != 0 && (both & ~distance) != 0;
    return more ? Level::cell : static_cast<Level>(both);
  }
  static bool within(Level level, Level other) { return join(level, other) == other; }
  static bool by_key(Level level) { return within(Level::key, level); }

  Index add_register(Level level, const Bounds& bounds, double slope) {
    using Registers = kernels::RowRegisters;
    registers_.push_back({level, bounds, slope});
    unsigned varies = 0;
    if (level == Level::distance) varies = Registers::by_distance;
    if (within(Level::query, level)) varies |= Registers::by_query;
    if (by_key(level)) varies |= Registers::by_key;
    rows_.varies_.push_back(static_cast<std::uint8_t>(varies));
    return static_cast<Index>(registers_.size() - 1);
  }

  Index constant(double number) {
    const auto [place, added] = constants_.try_emplace(std::bit_cast<std::uint64_t>(number), 0);
    if (added) {
      place->second = add_register(
          Level::all, {number, number, number == std::floor(number) && std::isfinite(number)}, 0);
      rows_.constants_.push_back({place->second, number});
    }
    return place->second;
  }

  // A step on registers, or the register that has its result already.
  Index add_step(RowOperation operation, std::vector<Index> of, const Bounds& bounds, double slope,
                 double (*apply)(double) = nullptr, Level level = Level::all) {
    const auto [place, added] = known_.try_emplace({operation, apply, of}, 0);
    if (!added) return place->second;
    const bool joins = level != Level::distance;
    for (const Index operand : of) {
      if (joins) level = join(level, registers_[operand].level);
    }
    kernels::RowStep step{.operation = operation, .function = apply};
    step.to = place->second = add_register(level, bounds, slope);
    std::copy(of.begin(), of.end(), step.of.begin());
    rows_.steps_[static_cast<std::size_t>(level)].push_back(step);
    return place->second;
  }

  Index key() {
    const auto last = static_cast<double>(geometry_.keys - 1);
    const Index at = add_step(RowOperation::keys, {}, {0, last, true}, 0, nullptr, Level::key);
    registers_[at].counts = Level::key;
    return at;
  }

  // A name that is filled in before the steps of its level.
  Index named(const ExpressionTree::Node& node, Level level, const Bounds& bounds) {
    const auto [place, added] = names_.try_emplace(node.operation, 0);
    if (added) {
      place->second = add_register(level, bounds, 0);
      const auto operation = static_cast<std::uint8_t>(node.operation);
      (by_key(level) ? rows_.compared_names_ : rows_.shared_names_)
          .push_back({place->second, operation});
    }
    return place->second;
  }

  static Bounds up_to(std::size_t count) { return {0, static_cast<double>(count) - 1, true}; }

  Index one(RowOperation operation, Index a, const Bounds& bounds, double slope,
            double (*apply)(double) = nullptr) {
    return add_step(operation, {a}, bounds, slope, apply);
  }

  bool surely_within(Index index, std::size_t size) const {
    const Bounds& bounds = registers_[index].bounds;
    return bounds.known() && bounds.whole && bounds.low >= 0 &&
           bounds.high < static_cast<double>(size);
  }

  // Whether an index may be outside, which makes the element NaN.
  bool fault_of(const std::vector<Index>& indices, const Tensor& table) const {
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      if (!surely_within(indices[axis], table.shape()[axis])) return true;
    }
    return false;
  }

  void note_fault(Index index, std::size_t size) {
    if (surely_within(index, size)) return;
    const Index limit = constant(static_cast<double>(size));
    Index wrong = add_step(RowOperation::outside, {index, limit}, {0, 1, true}, 0);
    for (const Condition& condition : path_) {
      Index truth = condition.truth;
      if (!condition.wanted) truth = one(RowOperation::opposite, truth, {0, 1, true}, 0);
      wrong = add_step(RowOperation::both, {wrong, truth}, {0, 1, true}, 0);
    }
    fault_ = fault_ ? add_step(RowOperation::either, {*fault_, wrong}, {0, 1, true}, 0) : wrong;
  }

  Index element(const ExpressionTree::Node& node) {
    const Tensor& table = tree_.tables_[node.row].numbers;
    const auto numbers = table.values<double>();
    if (node.of.empty()) return constant(numbers[0]);
    std::vector<Index> indices;
    for (const std::size_t index : node.of) indices.push_back(before_step(index));
    bool row = indices.back() == key();
    Level level = Level::all;
    for (std::size_t axis = 0; axis < indices.size(); ++axis) {
      note_fault(indices[axis], table.shape()[axis]);
      level = join(level, registers_[indices[axis]].level);
      const bool shared =
          axis + 1 == indices.size() || within(registers_[indices[axis]].level, Level::query);
      row = row && shared && surely_within(indices[axis], table.shape()[axis]);
    }
    Bounds bounds{infinity, -infinity, true};
    bool finite = true;
    for (const double x : numbers) {
      finite = finite && std::isfinite(x);
      bounds.low = std::min(bounds.low, x);
      bounds.high = std::max(bounds.high, x);
      bounds.whole = bounds.whole && x == std::floor(x);
    }
    bounds = bounds.if_known(finite && !fault_of(indices, table));
    kernels::RowStep step{.operation = row ? RowOperation::row : RowOperation::element};
    std::copy(indices.begin(), indices.end(), step.of.begin());
    step.table = numbers.data();
    step.axes = static_cast<std::uint8_t>(indices.size());
    std::copy(table.shape().begin(), table.shape().end(), step.sizes.begin());
    step.to = add_register(level, bounds, 0);
    rows_.steps_[static_cast<std::size_t>(level)].push_back(step);
    return step.to;
  }

  // Whether an operation gives what the standard library's function gives, to the bit.
  static bool is_exact(RowOperation operation) {
    return operation == RowOperation::absolute || operation == RowOperation::square_root ||
           operation == RowOperation::floor || operation == RowOperation::round ||
           operation == RowOperation::sign;
  }

  double slope_of(Index of) const { return registers_[of].slope; }

  // An operand whose last digit may decide.
  Index before_step(std::size_t operand) {
    ++steps_after_;
    const Index result = of(operand);
    --steps_after_;
    return result;
  }

  Index function(const ExpressionTree::Node& node) {
    const ExpressionFunction& row = expression_functions()[node.row];
    const bool steps = row.rows == RowOperation::floor || row.rows == RowOperation::round ||
                       row.rows == RowOperation::sign;
    std::vector<Index> arguments;
    for (const std::size_t argument : node.of) {
      arguments.push_back(steps ? before_step(argument) : of(argument));
    }
    const auto slope = [&](Index n) { return registers_[n].slope; };
    const auto& bounds_of = [&](Index n) -> const Bounds& { return registers_[n].bounds; };
    if (row.chosen == nullptr) {
      const Index x = arguments[0];
      const double bound = slope(x) == 0 ? 0 : bound_product(row.steepness, slope(x));
      Bounds bounds;
      if (row.rows == RowOperation::absolute) {
        bounds = {0, bounds_of(x).size(), bounds_of(x).whole};
      }
      if (row.rows == RowOperation::floor || row.rows == RowOperation::round) {
        bounds = {std::floor(bounds_of(x).low), std::ceil(bounds_of(x).high), true};
      }
      bounds = bounds.if_known(bounds_of(x).known());
      // Before a step the last digit decides.
      const bool exact = steps_after_ == 0 || is_exact(row.rows);
      return one(exact ? row.rows : RowOperation::applied, x, bounds, bound, row.value);
    }
    Index result = arguments[0];
    for (std::size_t n = 1; n < arguments.size(); ++n) {
      const Index next = arguments[n];
      const Bounds a = bounds_of(result), b = bounds_of(next);
      const RowOperation operation =
          row.rows == RowOperation::raised && n == 2 ? RowOperation::lowered : row.rows;
      const bool upwards = operation == RowOperation::greater || operation == RowOperation::raised;
      const Bounds bounds = upwards ? Bounds{std::max(a.low, b.low), std::max(a.high, b.high)}
                                    : Bounds{std::min(a.low, b.low), std::min(a.high, b.high)};
      result = add_step(
          operation, {result, next},
          Bounds{bounds.low, bounds.high, a.whole && b.whole}.if_known(a.known() && b.known()),
          std::max(slope(result), slope(next)));
    }
    return result;
  }

  Index raised(Index a, Index b) {
    const Register x = registers_[a], y = registers_[b];
    const bool constant_power = y.bounds.low == y.bounds.high;
    const double size = x.bounds.size();
    if (constant_power && y.bounds.low == 2 && (steps_after_ == 0 || x.bounds.whole)) {
      return add_step(RowOperation::times, {a, a},
                      Bounds{0, size * size, x.bounds.whole}.if_known(x.bounds.known()),
                      bound_product(2 * size, x.slope));
    }
    const RowOperation power = steps_after_ == 0 ? RowOperation::power : RowOperation::exact_power;
    if (x.bounds.known() && x.bounds.low >= 0 && constant_power && y.bounds.low >= 1) {
      const double most = y.bounds.low * std::pow(x.bounds.high, y.bounds.low - 1);
      return add_step(power, {a, b},
                      Bounds{0, std::pow(x.bounds.high, y.bounds.low)}.if_known(y.bounds.known()),
                      bound_product(most, x.slope));
    }
    return add_step(power, {a, b}, Bounds{}, x.slope > 0 || y.slope > 0 ? infinity : 0);
  }

  Index arithmetic(const ExpressionTree::Node& node) {
    const bool steps =
        node.operation == Operation::remainder || node.operation == Operation::floor_over;
    const Index a = steps ? before_step(node.of[0]) : of(node.of[0]);
    const Index b = steps ? before_step(node.of[1]) : of(node.of[1]);
    const Register x = registers_[a], y = registers_[b];
    const bool whole = x.bounds.whole && y.bounds.whole, steep = x.slope > 0 || y.slope > 0;
    const bool known = x.bounds.known() && y.bounds.known();
    const auto add = [&](RowOperation operation, const Bounds& bounds, double slope) {
      return add_step(operation, {a, b}, bounds.if_known(known), slope);
    };
    const auto counting = [&](Index result) {
      // Larger numbers would not grow by exactly one.
      const auto small = [](const Bounds& of) { return of.whole && of.size() < 0x1p51; };
      const bool shared = small(x.bounds) && within(x.level, Level::head);
      const bool other_shared = small(y.bounds) && within(y.level, Level::head);
      if (other_shared) registers_[result].counts = x.counts;
      if (shared && node.operation == Operation::plus) registers_[result].counts = y.counts;
      return result;
    };
    switch (node.operation) {
      case Operation::plus:
        return counting(add(RowOperation::plus,
                            {x.bounds.low + y.bounds.low, x.bounds.high + y.bounds.high, whole},
                            x.slope + y.slope));
      case Operation::minus: {
        const Bounds bounds{x.bounds.low - y.bounds.high, x.bounds.high - y.bounds.low, whole};
        if (x.counts == Level::query && y.counts == Level::key) {
          return add_step(RowOperation::query_less_key, {a, b}, bounds.if_known(known), 0, nullptr,
                          Level::distance);
        }
        if (x.counts == Level::key && y.counts == Level::query) {
          return add_step(RowOperation::key_less_query, {b, a}, bounds.if_known(known), 0, nullptr,
                          Level::distance);
        }
        return counting(add(RowOperation::minus, bounds, x.slope + y.slope));
      }
      case Operation::times: {
        Bounds bounds{infinity, -infinity, whole};
        for (const double u : {x.bounds.low, x.bounds.high}) {
          for (const double v : {y.bounds.low, y.bounds.high}) {
            bounds.low = std::min(bounds.low, bound_product(u, v));
            bounds.high = std::max(bounds.high, bound_product(u, v));
          }
        }
        return add(
            RowOperation::times, bounds,
            bound_product(x.bounds.size(), y.slope) + bound_product(y.bounds.size(), x.slope));
      }
      case Operation::over: {
        const bool same_sign = y.bounds.known() && (y.bounds.low > 0 || y.bounds.high < 0);
        const double least = std::min(std::abs(y.bounds.low), std::abs(y.bounds.high));
        const double slope = !steep ? 0 : y.slope == 0 && same_sign ? x.slope / least : infinity;
        return add(RowOperation::over, {}, slope);
      }
      case Operation::power:
        return raised(a, b);
      case Operation::remainder:
        if (y.bounds.low > 0) {
          return add(RowOperation::remainder, {0, whole ? y.bounds.high - 1 : y.bounds.high, whole},
                     steep ? infinity : 0);
        }
        return add(RowOperation::remainder, {}, steep ? infinity : 0);
      default:
        const auto exact = [](const Bounds& of) { return of.whole && of.size() < 0x1p53; };
        const RowOperation floor_over = known && exact(x.bounds) && exact(y.bounds)
                                            ? RowOperation::floor_over_whole
                                            : RowOperation::floor_over;
        if (x.bounds.low >= 0 && y.bounds.low >= 1) {
          return add(floor_over, {0, x.bounds.high, true}, steep ? infinity : 0);
        }
        return add(floor_over, {}, steep ? infinity : 0);
    }
  }

  Index compare(RowOperation operation, const ExpressionTree::Node& node, bool turned) {
    const Index a = before_step(node.of[0]), b = before_step(node.of[1]);
    return add_step(operation, turned ? std::vector{b, a} : std::vector{a, b}, {0, 1, true},
                    slope_of(a) > 0 || slope_of(b) > 0 ? infinity : 0);
  }

  // An operand that decides only under a condition.
  Index under(Index truth, bool wanted, std::size_t operand) {
    path_.push_back({truth, wanted});
    const Index result = of(operand);
    path_.pop_back();
    return result;
  }

  Index choice(const ExpressionTree::Node& node) {
    const Index a = of(node.of[0]);
    const Index yes = under(a, true, node.of[1]), no = under(a, false, node.of[2]);
    const Register x = registers_[yes], y = registers_[no];
    return add_step(RowOperation::choice, {a, yes, no},
                    Bounds{std::min(x.bounds.low, y.bounds.low),
                           std::max(x.bounds.high, y.bounds.high), x.bounds.whole && y.bounds.whole}
                        .if_known(x.bounds.known() && y.bounds.known()),
                    std::max({slope_of(a), x.slope, y.slope}));
  }

  Index of(std::size_t which) {
    const ExpressionTree::Node& node = tree_.nodes_[which];
    switch (node.operation) {
      case Operation::constant:
        return constant(node.number);
      case Operation::given:
        return 0;
      case Operation::b:
        return named(node, Level::head, up_to(geometry_.batch));
      case Operation::h:
        return named(node, Level::head, up_to(geometry_.heads));
      case Operation::i: {
        const Index at = named(node, Level::query, up_to(geometry_.queries));
        registers_[at].counts = Level::query;
        return at;
      }
      case Operation::offset:
        return named(
            node, Level::head,
            {-static_cast<double>(geometry_.queries), static_cast<double>(geometry_.keys), true});
      case Operation::j:
        return key();
      case Operation::query_norm:
        return named(node, Level::query, {});
      case Operation::key_norm:
        return named(node, Level::key, {});
      case Operation::dot:
      case Operation::distance:
        return named(node, Level::cell, {});
      case Operation::element:
        return element(node);
      case Operation::function:
        return function(node);
      case Operation::negative: {
        const Index a = of(node.of[0]);
        const Register x = registers_[a];
        return one(RowOperation::negative, a, {-x.bounds.high, -x.bounds.low, x.bounds.whole},
                   x.slope);
      }
      case Operation::opposite: {
        const Index a = of(node.of[0]);
        return one(RowOperation::opposite, a, {0, 1, true}, slope_of(a));
      }
      case Operation::less:
        return compare(RowOperation::less, node, false);
      case Operation::at_most:
        return compare(RowOperation::at_most, node, false);
      case Operation::more:
        return compare(RowOperation::less, node, true);
      case Operation::at_least:
        return compare(RowOperation::at_most, node, true);
      case Operation::equal:
        return compare(RowOperation::equal, node, false);
      case Operation::unequal:
        return compare(RowOperation::unequal, node, false);
      case Operation::both:
      case Operation::either: {
        const bool both = node.operation == Operation::both;
        const Index a = of(node.of[0]), b = under(a, both, node.of[1]);
        return add_step(both ? RowOperation::both : RowOperation::either, {a, b}, {0, 1, true},
                        std::max(slope_of(a), slope_of(b)));
      }
      case Operation::choice:
        return choice(node);
      case Operation::times:
      case Operation::over:
      case Operation::floor_over:
      case Operation::remainder:
      case Operation::plus:
      case Operation::minus:
      case Operation::power:
        break;
    }
    return arithmetic(node);
  }

  ExpressionRows& rows_;
  const ExpressionTree& tree_;
  const Geometry& geometry_;
  std::vector<Register> registers_;
  std::map<std::uint64_t, Index> constants_;
  std::map<Operation, Index> names_;
  std::map<std::tuple<RowOperation, double (*)(double), std::vector<Index>>, Index> known_;
  std::vector<Condition> path_;
  std::size_t steps_after_ = 0;  ///< steps that take what is compiled now
  std::optional<Index> fault_;
};

ExpressionRows::ExpressionRows(const ExpressionTree& tree, ExpressionUse use,
                               const Geometry& geometry) {
  Compiler(*this, tree, geometry).compile(use);
}

}  // namespace attn
