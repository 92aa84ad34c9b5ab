#include "kernels/layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Singles = hn::Rebind<float, Doubles>;  // with as many lanes
using DoubleVector = hn::Vec<Doubles>;

template <class T>
HWY_INLINE DoubleVector load(const T* from) {
  if constexpr (std::is_same_v<T, float>) {
    return hn::PromoteTo(Doubles(), hn::LoadU(Singles(), from));
  } else {
    return hn::LoadU(Doubles(), from);
  }
}

template <class T>
HWY_INLINE void store(DoubleVector numbers, T* to) {
  if constexpr (std::is_same_v<T, float>) {
    hn::StoreU(hn::DemoteTo(Singles(), numbers), Singles(), to);
  } else {
    hn::StoreU(numbers, Doubles(), to);
  }
}

// Σ (x − mean)^power with power 1 or 2.
template <int power, class T>
HWY_INLINE double sum_of(const T* x, std::size_t width, double mean) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const auto middle = hn::Set(d, mean);
  // Four sums, since an addition takes several cycles.
  DoubleVector sums[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  const auto add = [&](DoubleVector& sum, const T* from) HWY_ATTR {
    const auto deviation = hn::Sub(load(from), middle);
    sum = power == 1 ? hn::Add(deviation, sum) : hn::MulAdd(deviation, deviation, sum);
  };
  std::size_t i = 0;
  for (; i + 4 * lanes <= width; i += 4 * lanes) {
    for (std::size_t k = 0; k < 4; ++k) add(sums[k], x + i + k * lanes);
  }
  for (; i + lanes <= width; i += lanes) add(sums[0], x + i);
  double sum =
      hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
  for (; i < width; ++i) {
    const double deviation = static_cast<double>(x[i]) - mean;
    sum += power == 1 ? deviation : deviation * deviation;
  }
  return sum;
}

template <class T>
void normalise(const RowNorm<T>& norm, std::size_t rows) {
  const Doubles d;
  const std::size_t width = norm.width, lanes = hn::Lanes(d);
  const auto count = static_cast<double>(width);
  for (std::size_t row = 0; row < rows; ++row) {
    const T* x = norm.x + row * width;
    T* const to = norm.to + row * width;
    if (norm.added != nullptr) {
      const T* const added = norm.added + row * width;
      for (std::size_t i = 0; i < width; ++i) to[i] = x[i] + added[i];
      x = to;
    }
    const double mean = norm.centred ? sum_of<1>(x, width, 0) / count : 0;
    // From the deviations: no cancellation for large means.
    const double factor = 1 / std::sqrt(sum_of<2>(x, width, mean) / count + norm.eps);
    std::size_t i = 0;
    for (; i + lanes <= width; i += lanes) {
      auto y = hn::Mul(hn::Sub(load(x + i), hn::Set(d, mean)), hn::Set(d, factor));
      if (norm.weight != nullptr) y = hn::Mul(y, hn::LoadU(d, norm.weight + i));
      if (norm.bias != nullptr) y = hn::Add(y, hn::LoadU(d, norm.bias + i));
      store(y, to + i);
    }
    for (; i < width; ++i) {
      double y = (static_cast<double>(x[i]) - mean) * factor;
      if (norm.weight != nullptr) y *= norm.weight[i];
      if (norm.bias != nullptr) y += norm.bias[i];
      to[i] = static_cast<T>(y);
    }
  }
}

}  // namespace

void normalise_floats(const RowNorm<float>& norm, std::size_t rows) {
  normalise(norm, rows);
}

void normalise_doubles(const RowNorm<double>& norm, std::size_t rows) {
  normalise(norm, rows);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(normalise_floats);
ATTN_FOR_TARGETS(normalise_doubles);

void normalise_rows(const RowNorm<float>& norm, std::size_t rows) noexcept {
  ATTN_OF_TARGET(normalise_floats)(norm, rows);
}

void normalise_rows(const RowNorm<double>& norm, std::size_t rows) noexcept {
  ATTN_OF_TARGET(normalise_doubles)(norm, rows);
}

}  // namespace attn::kernels
#endif
