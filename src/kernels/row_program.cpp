#include "kernels/row_program.hpp"

#include <algorithm>
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

// Scalar code loses the sign of a zero that comes out of rounding, by which divisions differ.
HWY_INLINE V with_sign(V rounded, V number) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::CopySign(rounded, number);
#else
  static_cast<void>(number);
  return rounded;
#endif
}
HWY_INLINE V floor_of(V number) {
  return with_sign(hn::Floor(number), number);
}

// One step over the keys of a piece.
class Step {
 public:
  Step(const RowStep& step, const RowRegisters& registers, std::size_t count)
      : step_(step), to_(registers.numbers[step.to]), varies_(registers.varies[step.to] != 0) {
    count_ = varies_ ? count : 1;
    for (std::size_t n = 0; n < 3; ++n) {
      of_[n] = registers.numbers[step.of[n]];
      mask_[n] = registers.varies[step.of[n]] != 0 ? ~std::size_t{0} : 0;
    }
  }

  template <class F>
  HWY_INLINE void one(const F& f) const {
    const Doubles d;
    for (std::size_t k = 0; k < count_; k += lanes) hn::StoreU(f(load(0, k)), d, to_ + k);
  }
  template <class F>
  HWY_INLINE void two(const F& f) const {
    const Doubles d;
    for (std::size_t k = 0; k < count_; k += lanes) {
      hn::StoreU(f(load(0, k), load(1, k)), d, to_ + k);
    }
  }
  // Truths of a comparison.
  template <class F>
  HWY_INLINE void truth(const F& f) const {
    const Doubles d;
    const auto one = hn::Set(d, 1.0);
    two([&](V a, V b) HWY_ATTR { return hn::IfThenElseZero(f(a, b), one); });
  }
  HWY_INLINE void choose() const {
    const Doubles d;
    const auto zero = hn::Zero(d);
    for (std::size_t k = 0; k < count_; k += lanes) {
      hn::StoreU(hn::IfThenElse(hn::Ne(load(0, k), zero), load(1, k), load(2, k)), d, to_ + k);
    }
  }
  // f where |a| and 1/|a| are in a range of vectors, else the function lane by lane.
  template <class F>
  HWY_INLINE void within(double low, double high, const F& f) const {
    const Doubles d;
    const auto least = hn::Set(d, low), most = hn::Set(d, high);
    for (std::size_t k = 0; k < count_; k += lanes) {
      const V x = load(0, k);
      if (hn::AllTrue(d, hn::And(hn::Ge(x, least), hn::Le(x, most)))) {
        hn::StoreU(f(x), d, to_ + k);
      } else {
        for (std::size_t n = k; n < k + lanes; ++n) to_[n] = step_.function(number(0, n));
      }
    }
  }
  void each() const {
    for (std::size_t k = 0; k < count_; ++k) to_[k] = step_.function(number(0, k));
    share();
  }

  // Whole numbers have exact powers of the standard library; others 2^(b log₂ a).
  void power() const {
    const Doubles d;
    const auto least = hn::Set(d, 1e-300), most = hn::Set(d, 1e300), limit = hn::Set(d, 1000.0);
    const auto turned = hn::Set(d, rounding<double>), lowest = hn::Set(d, -1021.0);
    for (std::size_t k = 0; k < count_; k += lanes) {
      const V a = load(0, k), b = load(1, k);
      const auto whole = hn::And(hn::Eq(a, hn::Round(a)), hn::Eq(b, hn::Round(b)));
      auto fits = hn::AndNot(whole, hn::And(hn::Ge(a, least), hn::Le(a, most)));
      if (hn::AllTrue(d, fits)) {
        const V exponent = hn::Mul(b, hn::Log2(d, a));
        if (hn::AllTrue(d, hn::Le(hn::Abs(exponent), limit))) {
          hn::StoreU(power_of_two<true>(d, exponent, turned, lowest), d, to_ + k);
          continue;
        }
      }
      for (std::size_t n = k; n < k + lanes; ++n) to_[n] = std::pow(number(0, n), number(1, n));
    }
  }

  // a − b⌊a/b⌋ with the sign of b, also of zero, as in Python; std::fmod() and a fused product give
  // it exactly. A quotient that was rounded up to a whole number leaves a rest of the other sign.
  void remainder() const {
#if HWY_NATIVE_FMA
    two([](V a, V b) HWY_ATTR {
      const auto zero = hn::Zero(Doubles());
      const V whole = hn::Floor(hn::Div(a, b));
      const V rest = hn::IfThenElse(hn::Eq(whole, zero), a, hn::NegMulAdd(b, whole, a));
      const auto other_sign = hn::Xor(hn::Lt(rest, zero), hn::Lt(b, zero));
      const V mended = hn::IfThenElse(other_sign, hn::Add(rest, b), rest);
      return hn::IfThenElse(hn::Eq(rest, zero), hn::CopySign(zero, b), mended);
    });
#else
    for (std::size_t k = 0; k < count_; ++k) {
      const double b = number(1, k), rest = std::fmod(number(0, k), b);
      to_[k] = rest == 0 ? std::copysign(0.0, b) : (rest < 0) != (b < 0) ? rest + b : rest;
    }
    share();
#endif
  }

  void exact_power() const {
    for (std::size_t k = 0; k < count_; ++k) to_[k] = std::pow(number(0, k), number(1, k));
    share();
  }

  void keys(std::size_t first) const {
    const Doubles d;
    const V step = hn::Set(d, static_cast<double>(lanes));
    V key = hn::Iota(d, static_cast<double>(first));
    for (std::size_t k = 0; k < count_; k += lanes, key = hn::Add(key, step)) {
      hn::StoreU(key, d, to_ + k);
    }
  }

  void element() const {
    for (std::size_t k = 0; k < count_; ++k) {
      std::size_t at = 0;
      bool fits = true;
      for (std::size_t axis = 0; axis < step_.axes && fits; ++axis) {
        const double index = number(axis, k);
        fits = index >= 0 && index < static_cast<double>(step_.sizes[axis]) &&
               index == std::floor(index);
        if (fits) at = at * step_.sizes[axis] + static_cast<std::size_t>(index);
      }
      to_[k] = fits ? step_.table[at] : std::numeric_limits<double>::quiet_NaN();
    }
    share();
  }
  void row(std::size_t first) const {
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < step_.axes; ++axis) {
      const bool last = axis + 1 == std::size_t{step_.axes};
      at = at * step_.sizes[axis] + (last ? first : static_cast<std::size_t>(number(axis, 0)));
    }
    std::copy_n(step_.table + at, count_, to_);
    share();
  }

 private:
  HWY_INLINE V load(std::size_t operand, std::size_t k) const {
    return hn::LoadU(Doubles(), of_[operand] + (k & mask_[operand]));
  }
  double number(std::size_t operand, std::size_t k) const {
    return of_[operand][k & mask_[operand]];
  }
  // Fills the rest of the last vector: with the number that all keys share, else with zeros.
  void share() const {
    if (varies_) {
      std::fill(to_ + count_, to_ + (count_ + lanes - 1) / lanes * lanes, 0.0);
    } else {
      std::fill_n(to_ + 1, shared_numbers - 1, to_[0]);
    }
  }

  const RowStep& step_;
  double* to_;
  bool varies_;
  std::size_t count_;
  std::array<const double*, 3> of_;
  std::array<std::size_t, 3> mask_;
};

void run_step(const RowStep& of, const RowRegisters& registers, std::size_t first_key,
              std::size_t count) {
  const Doubles d;
  const Step step(of, registers, count);
  const V one = hn::Set(d, 1.0), zero = hn::Zero(d);
  using Operation = RowOperation;
  switch (of.operation) {
    case Operation::keys:
      return step.keys(first_key);
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
      return step.row(first_key);
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

template <class T>
RowOutcome narrow(const double* from, double factor, std::size_t count, T* to) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double most = std::numeric_limits<T>::max();
  const Doubles d;
  const hn::Rebind<T, Doubles> narrower;
  const V by = hn::Set(d, factor), largest = hn::Set(d, most);
  const V low = hn::Set(d, -infinity), high = hn::Set(d, infinity);
  auto nan = hn::Lt(by, by), negative = nan, large = nan;
  std::size_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    const V x = hn::Mul(hn::LoadU(d, from + k), by);
    const V size = hn::Abs(x);
    nan = hn::Or(nan, hn::Not(hn::Eq(x, x)));
    negative = hn::Or(negative, hn::Eq(x, low));
    large = hn::Or(large, hn::And(hn::Gt(size, largest), hn::Lt(size, high)));
    if constexpr (sizeof(T) == sizeof(double)) {
      hn::StoreU(x, d, to + k);
    } else {
      // Without vectors, infinity would become the largest number.
      const auto infinite = hn::Eq(size, high);
      const auto single = hn::DemoteTo(narrower, hn::IfThenZeroElse(infinite, x));
      hn::StoreU(single, narrower, to + k);
      if (hn::AllFalse(d, infinite)) continue;
      for (std::size_t n = k; n < k + lanes; ++n) {
        const double number = from[n] * factor;
        if (std::abs(number) == infinity) to[n] = static_cast<T>(number);
      }
    }
  }
  RowOutcome outcome{!hn::AllFalse(d, nan), !hn::AllFalse(d, negative), !hn::AllFalse(d, large)};
  for (; k < count; ++k) {
    const double x = from[k] * factor, size = std::abs(x);
    outcome.nan = outcome.nan || x != x;
    outcome.negative_infinity = outcome.negative_infinity || x == -infinity;
    outcome.too_large = outcome.too_large || (size > most && size < infinity);
    to[k] = static_cast<T>(x);
  }
  return outcome;
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

void run_all(std::span<const RowStep> steps, const RowRegisters& registers, std::size_t first_key,
             std::size_t count) {
  for (const RowStep& step : steps) run_step(step, registers, first_key, count);
}

void widen_floats(const float* from, double factor, std::size_t count, double* to) {
  widen(from, factor, count, to);
}
void widen_doubles(const double* from, double factor, std::size_t count, double* to) {
  widen(from, factor, count, to);
}
RowOutcome narrow_floats(const double* from, double factor, std::size_t count, float* to) {
  return narrow(from, factor, count, to);
}
RowOutcome narrow_doubles(const double* from, double factor, std::size_t count, double* to) {
  return narrow(from, factor, count, to);
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
ATTN_FOR_TARGETS(keep_truths);
ATTN_FOR_TARGETS(compare_with_keys);

void run_steps(std::span<const RowStep> steps, const RowRegisters& registers, std::size_t first_key,
               std::size_t count) noexcept {
  ATTN_OF_TARGET(run_all)(steps, registers, first_key, count);
}
void widen_row(const float* from, double factor, std::size_t count, double* to) noexcept {
  ATTN_OF_TARGET(widen_floats)(from, factor, count, to);
}
void widen_row(const double* from, double factor, std::size_t count, double* to) noexcept {
  ATTN_OF_TARGET(widen_doubles)(from, factor, count, to);
}
RowOutcome narrow_row(const double* from, double factor, std::size_t count, float* to) noexcept {
  return ATTN_OF_TARGET(narrow_floats)(from, factor, count, to);
}
RowOutcome narrow_row(const double* from, double factor, std::size_t count, double* to) noexcept {
  return ATTN_OF_TARGET(narrow_doubles)(from, factor, count, to);
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
