#include "kernels/head_row_preparation.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/head_row_preparation.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Singles = hn::Rebind<float, Doubles>;  // as many
constexpr std::size_t lanes = hn::MaxLanes(Doubles());

HWY_INLINE hn::Vec<Doubles> load(const float* from) {
  return hn::PromoteTo(Doubles(), hn::LoadU(Singles(), from));
}
HWY_INLINE void store(hn::Vec<Doubles> x, float* to) {
  hn::StoreU(hn::DemoteTo(Singles(), x), Singles(), to);
}

// Σ (x − mean)ᵖᵒʷᵉʳ.
template <int power>
HWY_INLINE double sum_of(const float* row, std::size_t width, double mean) {
  const Doubles d;
  const auto middle = hn::Set(d, mean);
  auto a = hn::Zero(d), b = a;
  const auto add = [&](hn::Vec<Doubles> sum, std::size_t k) HWY_ATTR {
    const auto x = hn::Sub(load(row + k), middle);
    return power == 1 ? hn::Add(sum, x) : hn::MulAdd(x, x, sum);
  };
  std::size_t k = 0;
  for (; k + 2 * lanes <= width; k += 2 * lanes) {
    a = add(a, k);
    b = add(b, k + lanes);
  }
  for (; k + lanes <= width; k += lanes) a = add(a, k);
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; k < width; ++k) {
    const double x = static_cast<double>(row[k]) - mean;
    sum += power == 1 ? x : x * x;
  }
  return sum;
}

void normalise(const float* from, std::size_t width, const RowNorm& norm, float* to) {
  const Doubles d;
  const auto size = static_cast<double>(width);
  const double mean = norm.subtracts_mean ? sum_of<1>(from, width, 0) / size : 0;
  const double factor = 1 / std::sqrt(sum_of<2>(from, width, mean) / size + norm.eps);
  const auto middle = hn::Set(d, mean), by = hn::Set(d, factor);
  std::size_t k = 0;
  for (; k + lanes <= width; k += lanes) {
    const auto unit = hn::Mul(hn::Sub(load(from + k), middle), by);
    const auto weight = hn::LoadU(d, norm.weight + k);
    store(norm.bias == nullptr ? hn::Mul(unit, weight)
                               : hn::MulAdd(unit, weight, hn::LoadU(d, norm.bias + k)),
          to + k);
  }
  for (; k < width; ++k) {
    const double value = (static_cast<double>(from[k]) - mean) * factor * norm.weight[k];
    to[k] = static_cast<float>(norm.bias == nullptr ? value : value + norm.bias[k]);
  }
}

void turn(float* row, const RowTurns& turns, std::size_t at) {
  const Doubles d;
  const Singles s;
  const double *cos = turns.cos + at * turns.pairs, *sin = turns.sin + at * turns.pairs;
  const std::size_t pairs = turns.pairs;
  std::size_t n = 0;
  for (; n + lanes <= pairs; n += lanes) {
    hn::Vec<Singles> first, second;
    if (turns.interleaved) {
      hn::LoadInterleaved2(s, row + 2 * n, first, second);
    } else {
      first = hn::LoadU(s, row + n);
      second = hn::LoadU(s, row + n + pairs);
    }
    const auto a = hn::PromoteTo(d, first), b = hn::PromoteTo(d, second);
    const auto c = hn::LoadU(d, cos + n), t = hn::LoadU(d, sin + n);
    first = hn::DemoteTo(s, hn::MulSub(a, c, hn::Mul(b, t)));
    second = hn::DemoteTo(s, hn::MulAdd(b, c, hn::Mul(a, t)));
    if (turns.interleaved) {
      hn::StoreInterleaved2(first, second, s, row + 2 * n);
    } else {
      hn::StoreU(first, s, row + n);
      hn::StoreU(second, s, row + n + pairs);
    }
  }
  for (; n < pairs; ++n) {
    float& first = row[turns.interleaved ? 2 * n : n];
    float& second = row[turns.interleaved ? 2 * n + 1 : n + pairs];
    const double a = static_cast<double>(first), b = static_cast<double>(second);
    first = static_cast<float>(a * cos[n] - b * sin[n]);
    second = static_cast<float>(b * cos[n] + a * sin[n]);
  }
}

}  // namespace

void prepare_head_rows(const float* from, std::size_t count, std::size_t width, std::size_t stride,
                       const RowNorm* norm, const RowTurns* turns, float* to) {
  for (std::size_t i = 0; i < count; ++i, from += stride, to += stride) {
    if (norm != nullptr) {
      normalise(from, width, *norm, to);
    } else {
      std::copy_n(from, width, to);
    }
    if (turns != nullptr) turn(to, *turns, i);
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(prepare_head_rows);

void prepare_rows(const float* from, std::size_t count, std::size_t width, std::size_t stride,
                  const RowNorm* norm, const RowTurns* turns, float* to) noexcept {
  ATTN_OF_TARGET(prepare_head_rows)(from, count, width, stride, norm, turns, to);
}

}  // namespace attn::kernels
#endif
