#include "kernels/row_program.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_program.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"
#include "kernels/tile_inl.hpp"
#include "kernels/vector_math_inl.hpp"
// Compiled once for each target, as this file is.
#include <hwy/contrib/math/math-inl.h>

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

using Doubles = hn::ScalableTag<double>;
using V = hn::Vec<Doubles>;
constexpr std::size_t lanes = lanes_of<double>;
static_assert(lanes <= shared_numbers);

// Targets without an instruction that rounds lose the sign of a zero that comes out of rounding, by
// which divisions differ.
HWY_INLINE V with_sign(V rounded, V number) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSE2
  return hn::CopySign(rounded, number);
#else
  static_cast<void>(number);
  return rounded;
#endif
}
HWY_INLINE V floor_of(V number) {
  return with_sign(hn::Floor(number), number);
}

// Without vectors, infinity would become the largest number.
constexpr bool keeps_infinity = HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128;

// One step over the cells of a piece.
class Step {
 public:
  Step(const RowStep& step, const RowRegisters& registers, const RowPiece& piece)
      : step_(step), to_(registers.numbers[step.to]) {
    const auto varies = [&](std::uint32_t which, std::uint8_t by) {
      return (registers.varies[which] & by) != 0;
    };
    const auto along_row = [&](std::uint32_t which) {
      return varies(which, RowRegisters::by_key | RowRegisters::by_distance);
    };
    const auto row_of = [&](std::uint32_t which) -> std::size_t {
      if (!varies(which, RowRegisters::by_query)) return 0;
      return varies(which, RowRegisters::by_key) ? piece.stride() : shared_numbers;
    };
    const bool distances = varies(step.to, RowRegisters::by_distance);
    varies_ = along_row(step.to);
    count_ = distances ? piece.distances() : varies_ ? piece.keys : 1;
    row_ = static_cast<std::ptrdiff_t>(row_of(step.to));
    rows_ = row_ == 0 ? 1 : piece.rows;
    for (std::size_t n = 0; n < most_operands; ++n) {
      of_[n] = registers.numbers[step.of[n]];
      row_of_[n] = static_cast<std::ptrdiff_t>(row_of(step.of[n]));
      mask_[n] = along_row(step.of[n]) ? ~std::size_t{0} : 0;
      if (!distances && varies(step.of[n], RowRegisters::by_distance)) {
        of_[n] += rows_ - 1;
        row_of_[n] = -1;
      }
    }
  }

  template <class F>
  HWY_INLINE void one(const F& f) const {
    vectors([&](const Row& row, std::size_t k) HWY_ATTR { return f(row.load(0, k)); });
  }
  template <class F>
  HWY_INLINE void two(const F& f) const {
    vectors([&](const Row& row, std::size_t k)
                HWY_ATTR { return f(row.load(0, k), row.load(1, k)); });
  }
  // Truths of a comparison.
  template <class F>
  HWY_INLINE void truth(const F& f) const {
    const Doubles d;
    const auto one = hn::Set(d, 1.0);
    two([&](V a, V b) HWY_ATTR { return hn::IfThenElseZero(f(a, b), one); });
  }
  HWY_INLINE void choose() const {
    const auto zero = hn::Zero(Doubles());
    vectors([&](const Row& row, std::size_t k) HWY_ATTR {
      return hn::IfThenElse(hn::Ne(row.load(0, k), zero), row.load(1, k), row.load(2, k));
    });
  }
  // f where a is in a range of vectors, else the function lane by lane.
  template <class F>
  HWY_INLINE void within(double low, double high, const F& f) const {
    const Doubles d;
    const auto least = hn::Set(d, low), most = hn::Set(d, high);
    rows([&](const Row& row) HWY_ATTR {
      for (std::size_t k = 0; k < count_; k += lanes) {
        const V x = row.load(0, k);
        if (hn::AllTrue(d, hn::And(hn::Ge(x, least), hn::Le(x, most)))) {
          hn::StoreU(f(x), d, row.to + k);
        } else {
          for (std::size_t n = k; n < k + lanes; ++n) {
            row.to[n] = step_.function(row.number(0, n));
          }
        }
      }
    });
  }
  void each() const {
    cells([&](const Row& row, std::size_t k) { return step_.function(row.number(0, k)); });
  }

  // Whole numbers have exact powers of the standard library; others 2^(b log₂ a).
  void power() const {
    const Doubles d;
    const auto least = hn::Set(d, 1e-300), most = hn::Set(d, 1e300), limit = hn::Set(d, 1000.0);
    const auto turned = hn::Set(d, rounding<double>), lowest = hn::Set(d, -1021.0);
    rows([&](const Row& row) HWY_ATTR {
      for (std::size_t k = 0; k < count_; k += lanes) {
        const V a = row.load(0, k), b = row.load(1, k);
        const auto whole = hn::And(hn::Eq(a, hn::Round(a)), hn::Eq(b, hn::Round(b)));
        auto fits = hn::AndNot(whole, hn::And(hn::Ge(a, least), hn::Le(a, most)));
        if (hn::AllTrue(d, fits)) {
          const V exponent = hn::Mul(b, hn::Log2(d, a));
          if (hn::AllTrue(d, hn::Le(hn::Abs(exponent), limit))) {
            hn::StoreU(power_of_two<true>(d, exponent, turned, lowest), d, row.to + k);
            continue;
          }
        }
        for (std::size_t n = k; n < k + lanes; ++n) {
          row.to[n] = std::pow(row.number(0, n), row.number(1, n));
        }
      }
    });
  }

  // f(a, b, ⌊a / b⌋ of the rounded quotient, a − b⌊a / b⌋, whether it has another sign than b)
  // where quotients are so small that their whole parts and the fused rests are exact, else the
  // function number by number. A quotient that was rounded up to a whole number leaves a rest of
  // the other sign.
  template <class F>
  HWY_INLINE void divide([[maybe_unused]] const F& f, double (*function)(double, double)) const {
#if HWY_NATIVE_FMA
    rows([&](const Row& row) HWY_ATTR {
      const Doubles d;
      const auto zero = hn::Zero(d), most = hn::Set(d, 0x1p51);
      for (std::size_t k = 0; k < count_; k += lanes) {
        const V a = row.load(0, k), b = row.load(1, k), quotient = hn::Div(a, b);
        if (hn::AllTrue(d, hn::Lt(hn::Abs(quotient), most))) {
          const V whole = hn::Floor(quotient);
          const V rest = hn::IfThenElse(hn::Eq(whole, zero), a, hn::NegMulAdd(b, whole, a));
          const auto other_sign = hn::Xor(hn::Lt(rest, zero), hn::Lt(b, zero));
          hn::StoreU(f(b, quotient, whole, rest, other_sign), d, row.to + k);
          continue;
        }
        for (std::size_t n = k; n < k + lanes; ++n) {
          row.to[n] = function(row.number(0, n), row.number(1, n));
        }
      }
    });
#else
    cells([&](const Row& row, std::size_t k) {
      return function(row.number(0, k), row.number(1, k));
    });
#endif
  }

  void remainder() const {
    divide(
        [](V b, V, V, V rest, auto other_sign) HWY_ATTR {
          const auto zero = hn::Zero(Doubles());
          const V mended = hn::IfThenElse(other_sign, hn::Add(rest, b), rest);
          return hn::IfThenElse(hn::Eq(rest, zero), hn::CopySign(zero, b), mended);
        },
        &floor_remainder);
  }

  void floor_over() const {
    divide(
        [](V, V quotient, V whole, V rest, auto other_sign) HWY_ATTR {
          const Doubles d;
          const auto zero = hn::Zero(d);
          const auto too_large = hn::AndNot(hn::Eq(rest, zero), other_sign);
          const V mended = hn::IfThenElse(too_large, hn::Sub(whole, hn::Set(d, 1.0)), whole);
          return hn::IfThenElse(hn::Eq(mended, zero), hn::CopySign(zero, quotient), mended);
        },
        &floor_quotient);
  }

  void exact_power() const {
    cells(
        [](const Row& row, std::size_t k) { return std::pow(row.number(0, k), row.number(1, k)); });
  }

  // first, first + step, …
  void count_from(double first, double step = 1) const {
    const Doubles d;
    const V by = hn::Set(d, step), from = hn::Set(d, first);
    const V next = hn::Set(d, static_cast<double>(lanes));
    V at = hn::Iota(d, 0.0);
    for (std::size_t k = 0; k < count_; k += lanes, at = hn::Add(at, next)) {
      hn::StoreU(hn::Add(from, hn::Mul(at, by)), d, to_ + k);
    }
  }
  void query_less_key(std::size_t rows) const {
    count_from(of_[0][0] - of_[1][0] + static_cast<double>(rows - 1), -1);
  }
  void key_less_query(std::size_t rows) const {
    count_from(of_[1][0] - of_[0][0] - static_cast<double>(rows - 1));
  }

  void element() const {
    cells([&](const Row& row, std::size_t k) {
      std::size_t at = 0;
      for (std::size_t axis = 0; axis < step_.axes; ++axis) {
        const double index = row.number(axis, k);
        const bool fits = index >= 0 && index < static_cast<double>(step_.sizes[axis]) &&
                          index == std::floor(index);
        if (!fits) return std::numeric_limits<double>::quiet_NaN();
        at = at * step_.sizes[axis] + static_cast<std::size_t>(index);
      }
      return step_.table[at];
    });
  }
  void row(std::size_t first) const {
    rows([&](const Row& row) {
      std::size_t at = 0;
      for (std::size_t axis = 0; axis < step_.axes; ++axis) {
        const bool last = axis + 1 == std::size_t{step_.axes};
        const double index = last ? static_cast<double>(first) : row.number(axis, 0);
        if (!(index >= 0 && index < static_cast<double>(step_.sizes[axis]))) {
          std::fill_n(row.to, count_, std::numeric_limits<double>::quiet_NaN());
          return share(row.to);
        }
        at = at * step_.sizes[axis] + static_cast<std::size_t>(index);
      }
      std::copy_n(step_.table + at, count_, row.to);
      share(row.to);
    });
  }

  // Puts the sum, difference or product of the widened cell and the other operand, narrowed, in
  // place of each cell. False, with the cells as they were, if a number is not finite in T or too
  // large.
  template <RowOperation operation, class T>
  bool replace(const RowFactors& factors, T* cells, std::size_t stride) const {
    if (!keeps_infinity) return false;
    const std::size_t other = step_.of[0] == 0 ? 1 : 0;
    std::array<T, row_piece> before;
    const hn::Rebind<T, Doubles> narrower;
    const Doubles d;
    const V back = hn::Set(d, factors.widen), by = hn::Set(d, factors.narrow);
    const auto zero = hn::Zero(narrower);
    auto not_finite = zero;  // x · 0 is 0 for every finite x
    V largest = hn::Zero(d);
    const double most = std::min(factors.most, static_cast<double>(std::numeric_limits<T>::max()));
    bool fits = true;
    T* kept = before.data();
    for (std::size_t r = 0; r < rows_; ++r, kept += count_) {
      T* const row = cells + r * stride;
      const double* const rest = of_[other] + static_cast<std::ptrdiff_t>(r) * row_of_[other];
      std::copy_n(row, count_, kept);
      std::size_t k = 0;
      for (; k + lanes <= count_; k += lanes) {
        const auto cell = hn::LoadU(narrower, row + k);
        const V number = hn::LoadU(d, rest + (k & mask_[other]));
        if constexpr (sizeof(T) == sizeof(double)) {
          const auto made = hn::Mul(joined<operation>(hn::Mul(cell, back), number, other), by);
          hn::StoreU(made, d, row + k);
          largest = hn::Max(hn::Abs(made), largest);
          not_finite = hn::MulAdd(made, zero, not_finite);
        } else {
          const V given = hn::Mul(hn::PromoteTo(d, cell), back);
          const V wide = hn::Mul(joined<operation>(given, number, other), by);
          const auto made = hn::DemoteTo(narrower, wide);
          largest = hn::Max(hn::Abs(wide), largest);
          hn::StoreU(made, narrower, row + k);
          not_finite = hn::MulAdd(made, zero, not_finite);
        }
      }
      for (; k < count_; ++k) {
        const V given = hn::Mul(hn::Set(d, static_cast<double>(row[k])), back);
        const V number = hn::Set(d, rest[k & mask_[other]]);
        const double made = hn::GetLane(hn::Mul(joined<operation>(given, number, other), by));
        fits = fits && std::abs(made) <= most;
        row[k] = static_cast<T>(made);
      }
    }
    const bool within = hn::AllTrue(d, hn::Le(largest, hn::Set(d, most)));
    if (fits && within && hn::AllTrue(narrower, hn::Eq(not_finite, zero))) return true;
    for (std::size_t r = 0; r < rows_; ++r) {
      std::copy_n(before.data() + r * count_, count_, cells + r * stride);
    }
    return false;
  }

 private:
  // s and the other operand, which is the second of the step if `other` is 1.
  template <RowOperation operation>
  static HWY_INLINE V joined(V s, V number, std::size_t other) {
    if constexpr (operation == RowOperation::plus) return hn::Add(s, number);
    if constexpr (operation == RowOperation::times) return hn::Mul(s, number);
    return other == 1 ? hn::Sub(s, number) : hn::Sub(number, s);
  }

  // One query.
  struct Row {
    double* to;
    std::array<const double*, most_operands> of;
    const std::array<std::size_t, most_operands>& mask;

    HWY_INLINE V load(std::size_t operand, std::size_t k) const {
      return hn::LoadU(Doubles(), of[operand] + (k & mask[operand]));
    }
    double number(std::size_t operand, std::size_t k) const {
      return of[operand][k & mask[operand]];
    }
  };

  template <class F>
  HWY_INLINE void rows(const F& f) const {
    for (std::ptrdiff_t r = 0; r < static_cast<std::ptrdiff_t>(rows_); ++r) {
      f(Row{to_ + r * row_,
            {of_[0] + r * row_of_[0], of_[1] + r * row_of_[1], of_[2] + r * row_of_[2],
             of_[3] + r * row_of_[3]},
            mask_});
    }
  }
  // Vector by vector.
  template <class F>
  HWY_INLINE void vectors(const F& f) const {
    rows([&](const Row& row) HWY_ATTR {
      for (std::size_t k = 0; k < count_; k += lanes) hn::StoreU(f(row, k), Doubles(), row.to + k);
    });
  }
  // Number by number.
  template <class F>
  void cells(const F& f) const {
    rows([&](const Row& row) {
      for (std::size_t k = 0; k < count_; ++k) row.to[k] = f(row, k);
      share(row.to);
    });
  }
  // Fills the rest of the last vector: with the number that all keys share, else with zeros.
  void share(double* to) const {
    if (varies_) {
      std::fill(to + count_, to + rounded_up(count_, lanes), 0.0);
    } else {
      std::fill_n(to + 1, shared_numbers - 1, to[0]);
    }
  }

  const RowStep& step_;
  double* to_;
  bool varies_;
  std::size_t count_, rows_;
  std::ptrdiff_t row_;
  std::array<const double*, most_operands> of_;
  std::array<std::ptrdiff_t, most_operands> row_of_;
  std::array<std::size_t, most_operands> mask_;
};

void run_step(const RowStep& of, const RowRegisters& registers, const RowPiece& piece) {
  const Doubles d;
  const Step step(of, registers, piece);
  const V one = hn::Set(d, 1.0), zero = hn::Zero(d);
  using Operation = RowOperation;
  switch (of.operation) {
    case Operation::keys:
      return step.count_from(static_cast<double>(piece.first_key));
    case Operation::query_less_key:
      return step.query_less_key(piece.rows);
    case Operation::key_less_query:
      return step.key_less_query(piece.rows);
    case Operation::negative:
      return step.one([&](V a) HWY_ATTR { return hn::Neg(a); });
    case Operation::opposite:
      return step.one([&](V a) HWY_ATTR { return hn::Sub(one, a); });
    case Operation::plus:
      return step.two([](V a, V b) HWY_ATTR { return hn::Add(a, b); });
    case Operation::minus:
      return step.two([](V a, V b) HWY_ATTR { return hn::Sub(a, b); });
    case Operation::times:
      return step.two([](V a, V b) HWY_ATTR { return hn::Mul(a, b); });
    case Operation::over:
      return step.two([](V a, V b) HWY_ATTR { return hn::Div(a, b); });
    case Operation::floor_over:
      return step.floor_over();
    case Operation::floor_over_whole:
      return step.two([](V a, V b) HWY_ATTR { return floor_of(hn::Div(a, b)); });
    case Operation::remainder:
      return step.remainder();
    case Operation::power:
      return step.power();
    case Operation::exact_power:
      return step.exact_power();
    case Operation::less:
      return step.truth([](V a, V b) HWY_ATTR { return hn::Lt(a, b); });
    case Operation::at_most:
      return step.truth([](V a, V b) HWY_ATTR { return hn::Le(a, b); });
    case Operation::equal:
      return step.truth([](V a, V b) HWY_ATTR { return hn::Eq(a, b); });
    case Operation::unequal:  // of NaN too
      return step.truth([](V a, V b) HWY_ATTR { return hn::Not(hn::Eq(a, b)); });
    case Operation::both:
      return step.two([](V a, V b) HWY_ATTR { return hn::Min(a, b); });
    case Operation::either:
      return step.two([](V a, V b) HWY_ATTR { return hn::Max(a, b); });
    case Operation::choice:
      return step.choose();
    case Operation::smaller:  // the first number that is less than those before it, or NaN
      return step.two([](V a, V b) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::Not(hn::Eq(b, b))), b, a);
      });
    case Operation::greater:
      return step.two([](V a, V b) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::Not(hn::Eq(b, b))), b, a);
      });
    case Operation::raised:
      return step.two([](V a, V b) HWY_ATTR { return hn::IfThenElse(hn::Lt(a, b), b, a); });
    case Operation::lowered:
      return step.two([](V a, V b) HWY_ATTR { return hn::IfThenElse(hn::Gt(a, b), b, a); });
    case Operation::outside:
      return step.two([&](V a, V b) HWY_ATTR {
        const auto index = hn::And(hn::And(hn::Ge(a, zero), hn::Lt(a, b)), hn::Eq(a, hn::Floor(a)));
        return hn::IfThenZeroElse(index, one);
      });
    case Operation::absolute:
      return step.one([](V a) HWY_ATTR { return hn::Abs(a); });
    case Operation::exp:
      return step.within(-700, 700, [&](V a) HWY_ATTR { return exponential(d, a); });
    case Operation::exp2:
      return step.within(-1000, 1000, [&](V a) HWY_ATTR {
        return power_of_two<true>(d, a, hn::Set(d, rounding<double>), hn::Set(d, -1021.0));
      });
    case Operation::log:
      return step.within(1e-300, 1e300, [&](V a) HWY_ATTR { return hn::Log(d, a); });
    case Operation::log2:
      return step.within(1e-300, 1e300, [&](V a) HWY_ATTR { return hn::Log2(d, a); });
    case Operation::square_root:
      return step.one([](V a) HWY_ATTR { return hn::Sqrt(a); });
    case Operation::tanh:
      return step.one([&](V a) HWY_ATTR { return hyperbolic_tangent(d, a); });
    case Operation::sin:
      return step.within(-30000, 30000, [&](V a) HWY_ATTR { return hn::Sin(d, a); });
    case Operation::cos:
      return step.within(-30000, 30000, [&](V a) HWY_ATTR { return hn::Cos(d, a); });
    case Operation::floor:
      return step.one([](V a) HWY_ATTR { return floor_of(a); });
    case Operation::round:
      return step.one([](V a) HWY_ATTR { return with_sign(hn::Round(a), a); });
    case Operation::sign:
      return step.one([&](V a) HWY_ATTR {
        return hn::IfThenElse(hn::Or(hn::Eq(a, zero), hn::Not(hn::Eq(a, a))), a,
                              hn::CopySign(one, a));
      });
    case Operation::sigmoid:
      return step.one([&](V a) HWY_ATTR {
        const V power = exponential(d, hn::Neg(hn::Abs(a)));
        return hn::Div(hn::IfThenElse(hn::Lt(a, zero), power, one), hn::Add(one, power));
      });
    case Operation::applied:
      return step.each();
    case Operation::element:
      return step.element();
    case Operation::row:
      return step.row(piece.first_key);
  }
}

// Numbers with a factor from one type to the other.
template <class T>
void widen(const T* from, double factor, std::size_t count, double* to) {
  const Doubles d;
  const hn::Rebind<T, Doubles> narrow;
  const V by = hn::Set(d, factor);
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    V x;
    if constexpr (sizeof(T) == sizeof(double)) {
      x = hn::LoadU(d, from + k);
    } else {
      x = hn::PromoteTo(d, hn::LoadU(narrow, from + k));
    }
    hn::StoreU(hn::Mul(x, by), d, to + k);
  }
  for (; k < count; ++k) to[k] = static_cast<double>(from[k]) * factor;
}

// Narrows a row. Returns whether all numbers are finite and in the range of T.
template <class T>
bool narrow(const double* from, double factor, std::size_t count, T* to) {
  constexpr auto most = static_cast<double>(std::numeric_limits<T>::max());
  const Doubles d;
  const hn::Rebind<T, Doubles> narrower;
  const V by = hn::Set(d, factor);
  // x · 0 is 0 for every finite x.
  const auto zero = hn::Zero(narrower);
  auto not_finite = zero;
  bool fits = true;
  std::size_t k = 0;
  for (; keeps_infinity && k + lanes <= count; k += lanes) {
    const V x = hn::Mul(hn::LoadU(d, from + k), by);
    if constexpr (sizeof(T) == sizeof(double)) {
      hn::StoreU(x, d, to + k);
      not_finite = hn::MulAdd(x, zero, not_finite);
    } else {
      const auto narrowed = hn::DemoteTo(narrower, x);
      hn::StoreU(narrowed, narrower, to + k);
      not_finite = hn::MulAdd(narrowed, zero, not_finite);
    }
  }
  for (; k < count; ++k) {
    const double x = from[k] * factor;
    fits = fits && std::abs(x) <= most;
    to[k] = static_cast<T>(x);
  }
  return fits && hn::AllTrue(narrower, hn::Eq(not_finite, zero));
}

// Conditions of a row that are not those of finite numbers in the range of T.
template <class T>
void note_outcome(const double* from, double factor, std::size_t count, RowOutcome& outcome) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr auto most = static_cast<double>(std::numeric_limits<T>::max());
  unsigned nan = 0, negative = 0, large = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double x = from[k] * factor, size = std::abs(x);
    nan |= static_cast<unsigned>(x != x);
    negative |= static_cast<unsigned>(x == -infinity);
    large |= static_cast<unsigned>(size > most) & static_cast<unsigned>(size < infinity);
  }
  outcome.nan = outcome.nan || nan != 0;
  outcome.negative_infinity = outcome.negative_infinity || negative != 0;
  outcome.too_large = outcome.too_large || large != 0;
}

template <RowComparison comparison>
void compare_all(const double* query, const double* const* keys, std::size_t count,
                 std::size_t width, double* to) {
  const Doubles d;
  const auto add = [](V sum, V q, V k) HWY_ATTR {
    if constexpr (comparison == RowComparison::dot) {
      return hn::MulAdd(q, k, sum);
    } else {
      const V apart = hn::Sub(q, k);
      return hn::MulAdd(apart, apart, sum);
    }
  };
  for (std::size_t n = 0; n < count; ++n) {
    const double* const key = keys[n];
    V a = hn::Zero(d), b = a;
    std::size_t c = 0;
    for (; c + 2 * lanes <= width; c += 2 * lanes) {
      a = add(a, hn::LoadU(d, query + c), hn::LoadU(d, key + c));
      b = add(b, hn::LoadU(d, query + c + lanes), hn::LoadU(d, key + c + lanes));
    }
    double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
    for (; c < width; ++c) {
      const double apart = query[c] - key[c];
      sum += comparison == RowComparison::dot ? query[c] * key[c] : apart * apart;
    }
    to[n] = comparison == RowComparison::dot ? sum : std::sqrt(sum);
  }
}

}  // namespace

void run_all(std::span<const RowStep> steps, const RowRegisters& registers, const RowPiece& piece) {
  for (const RowStep& step : steps) run_step(step, registers, piece);
}

template <class T>
void widen_all(const T* from, std::size_t stride, double factor, const RowPiece& piece,
               double* to) {
  for (std::size_t r = 0; r < piece.rows; ++r) {
    widen(from + r * stride, factor, piece.keys, to + r * piece.stride());
  }
}
void widen_floats(const float* from, std::size_t stride, double factor, const RowPiece& piece,
                  double* to) {
  widen_all(from, stride, factor, piece, to);
}
void widen_doubles(const double* from, std::size_t stride, double factor, const RowPiece& piece,
                   double* to) {
  widen_all(from, stride, factor, piece, to);
}

template <class T>
RowOutcome narrow_all(const double* from, double factor, const RowPiece& piece, T* to,
                      std::size_t stride) {
  RowOutcome outcome;
  for (std::size_t r = 0; r < piece.rows; ++r) {
    const double* const row = from + r * piece.stride();
    if (narrow(row, factor, piece.keys, to + r * stride)) continue;
    note_outcome<T>(row, factor, piece.keys, outcome);
  }
  return outcome;
}
RowOutcome narrow_floats(const double* from, double factor, const RowPiece& piece, float* to,
                         std::size_t stride) {
  return narrow_all(from, factor, piece, to, stride);
}
RowOutcome narrow_doubles(const double* from, double factor, const RowPiece& piece, double* to,
                          std::size_t stride) {
  return narrow_all(from, factor, piece, to, stride);
}

template <class T>
bool replace_all(const RowStep& of, const RowRegisters& registers, const RowFactors& factors,
                 const RowPiece& piece, T* cells, std::size_t stride) {
  const Step step(of, registers, piece);
  switch (of.operation) {
    case RowOperation::plus:
      return step.replace<RowOperation::plus>(factors, cells, stride);
    case RowOperation::minus:
      return step.replace<RowOperation::minus>(factors, cells, stride);
    case RowOperation::times:
      return step.replace<RowOperation::times>(factors, cells, stride);
    default:
      return false;
  }
}
bool replace_floats(const RowStep& step, const RowRegisters& registers, const RowFactors& factors,
                    const RowPiece& piece, float* cells, std::size_t stride) {
  return replace_all(step, registers, factors, piece, cells, stride);
}
bool replace_doubles(const RowStep& step, const RowRegisters& registers, const RowFactors& factors,
                     const RowPiece& piece, double* cells, std::size_t stride) {
  return replace_all(step, registers, factors, piece, cells, stride);
}

bool keep_truths(const double* truths, std::size_t count, std::uint8_t* seen) {
  unsigned nan = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const double truth = truths[j];
    seen[j] = static_cast<std::uint8_t>(seen[j] & static_cast<unsigned>(truth == 1.0));
    nan |= static_cast<unsigned>(truth != truth);
  }
  return nan != 0;
}

void compare_with_keys(RowComparison comparison, const double* query, const double* const* keys,
                       std::size_t count, std::size_t width, double* to) {
  if (comparison == RowComparison::dot) {
    compare_all<RowComparison::dot>(query, keys, count, width, to);
  } else {
    compare_all<RowComparison::distance>(query, keys, count, width, to);
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(run_all);
ATTN_FOR_TARGETS(widen_floats);
ATTN_FOR_TARGETS(widen_doubles);
ATTN_FOR_TARGETS(narrow_floats);
ATTN_FOR_TARGETS(narrow_doubles);
ATTN_FOR_TARGETS(replace_floats);
ATTN_FOR_TARGETS(replace_doubles);
ATTN_FOR_TARGETS(keep_truths);
ATTN_FOR_TARGETS(compare_with_keys);

void run_steps(std::span<const RowStep> steps, const RowRegisters& registers,
               const RowPiece& piece) noexcept {
  ATTN_OF_TARGET(run_all)(steps, registers, piece);
}
void widen_rows(const float* from, std::size_t stride, double factor, const RowPiece& piece,
                double* to) noexcept {
  ATTN_OF_TARGET(widen_floats)(from, stride, factor, piece, to);
}
void widen_rows(const double* from, std::size_t stride, double factor, const RowPiece& piece,
                double* to) noexcept {
  ATTN_OF_TARGET(widen_doubles)(from, stride, factor, piece, to);
}
RowOutcome narrow_rows(const double* from, double factor, const RowPiece& piece, float* to,
                       std::size_t stride) noexcept {
  return ATTN_OF_TARGET(narrow_floats)(from, factor, piece, to, stride);
}
RowOutcome narrow_rows(const double* from, double factor, const RowPiece& piece, double* to,
                       std::size_t stride) noexcept {
  return ATTN_OF_TARGET(narrow_doubles)(from, factor, piece, to, stride);
}
bool replace_cells(const RowStep& step, const RowRegisters& registers, const RowFactors& factors,
                   const RowPiece& piece, float* cells, std::size_t stride) noexcept {
  return ATTN_OF_TARGET(replace_floats)(step, registers, factors, piece, cells, stride);
}
bool replace_cells(const RowStep& step, const RowRegisters& registers, const RowFactors& factors,
                   const RowPiece& piece, double* cells, std::size_t stride) noexcept {
  return ATTN_OF_TARGET(replace_doubles)(step, registers, factors, piece, cells, stride);
}
bool keep_true(const double* truths, std::size_t count, std::uint8_t* seen) noexcept {
  return ATTN_OF_TARGET(keep_truths)(truths, count, seen);
}
void compare_rows(RowComparison comparison, const double* query, const double* const* keys,
                  std::size_t count, std::size_t width, double* to) noexcept {
  ATTN_OF_TARGET(compare_with_keys)(comparison, query, keys, count, width, to);
}

}  // namespace attn::kernels
#endif
