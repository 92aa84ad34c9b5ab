#include <algorithm>
#include <cmath>

#include "kernels/row_functions.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/projection_errors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/number_sizes_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using Singles = hn::Rebind<float, Doubles>;  // with as many lanes
using DoubleVector = hn::Vec<Doubles>;

HWY_INLINE DoubleVector load_singles(const float* from) {
  return hn::PromoteTo(Doubles(), hn::LoadU(Singles(), from));
}

template <class D>
HWY_INLINE double of_lanes(D d, hn::Vec<D> parts) {
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, parts)));
}

}  // namespace

RowSquares squares_of_rows(const float* rows, std::size_t count, std::size_t width) {
  const hn::ScalableTag<float> d;
  RowSquares result;
  // Lane by lane the largest of some rows: one sum over lanes for all of them.
  constexpr std::size_t together = 8;
  for (std::size_t first = 0; first < count; first += together) {
    const std::size_t end = std::min(count, first + together);
    auto most = hn::Zero(d), all = most;
    for (std::size_t i = first; i < end; ++i) {
      const auto squares = squares_in_lanes(d, rows + i * width, width);
      most = larger(d, squares, most);
      all = hn::Add(all, squares);
    }
    if (hn::GetLane(hn::SumOfLanes(d, all)) < infinite<float>) {
      result.largest = std::max(result.largest, hn::GetLane(hn::SumOfLanes(d, most)));
      continue;
    }
    for (std::size_t i = first; i < end; ++i) {
      const float squares = squares_of(rows + i * width, width);
      if (squares < infinite<float>) {
        result.largest = std::max(result.largest, squares);
      } else {
        result.finite = false;
      }
    }
  }
  return result;
}

// Four rows at a time, so that sums are loaded and stored a fourth as often. Rows are read in one
// piece, because their places may share a set of the cache.
void mix_some_columns(const float* W, const ErrorProbes& probes, std::size_t first,
                      std::size_t count) {
  const Doubles d;
  const std::size_t width = probes.width, outputs = probes.outputs, end = first + count;
  constexpr std::size_t together = 4;
  for (std::size_t p = 0; p < error_probes; ++p) {
    std::fill_n(probes.mixed + p * width + first, count, 0.0);
  }
  for (std::size_t i = 0; i < outputs; i += together) {
    // Rows beyond the last one count as the last one without a sign.
    std::array<const float*, together> rows;
    std::array<std::array<double, together>, error_probes> signs{};
    for (std::size_t r = 0; r < together; ++r) {
      rows[r] = W + std::min(i + r, outputs - 1) * width;
      for (std::size_t p = 0; p < error_probes && i + r < outputs; ++p) {
        signs[p][r] = double{probes.signs[p * outputs + i + r]};
      }
    }
    std::size_t k = first;
    for (const std::size_t lanes = hn::Lanes(d); k + lanes <= end; k += lanes) {
      const auto a = load_singles(rows[0] + k), b = load_singles(rows[1] + k),
                 c = load_singles(rows[2] + k), e = load_singles(rows[3] + k);
#pragma GCC unroll 4
      for (std::size_t p = 0; p < error_probes; ++p) {
        double* const to = probes.mixed + p * width + k;
        auto sum = hn::MulAdd(a, hn::Set(d, signs[p][0]), hn::LoadU(d, to));
        sum = hn::MulAdd(b, hn::Set(d, signs[p][1]), sum);
        sum = hn::MulAdd(c, hn::Set(d, signs[p][2]), sum);
        hn::StoreU(hn::MulAdd(e, hn::Set(d, signs[p][3]), sum), d, to);
      }
    }
    for (; k < end; ++k) {
      for (std::size_t p = 0; p < error_probes; ++p) {
        for (std::size_t r = 0; r < together; ++r) {
          probes.mixed[p * width + k] += signs[p][r] * double{rows[r][k]};
        }
      }
    }
  }
}

// Σ x vᵀW in double precision. Σ v y may be summed in floats, whose rounding is independent of the
// errors of y and smaller.
void measure_row_errors(const ErrorProbes& probes, const float* x, const float* y,
                        std::size_t count, double* errors) {
  const Doubles d;
  const hn::ScalableTag<float> s;
  const std::size_t width = probes.width, outputs = probes.outputs, lanes = hn::Lanes(d);
  const double* const mixed = probes.mixed;
  const float* const signs = probes.signs;
  for (std::size_t row = 0; row < count; ++row, x += width) {
    DoubleVector a = hn::Zero(d), b = a, c = a, e = a;
    std::size_t k = 0;
    for (; k + lanes <= width; k += lanes) {
      const auto numbers = load_singles(x + k);
      a = hn::MulAdd(numbers, hn::LoadU(d, mixed + k), a);
      b = hn::MulAdd(numbers, hn::LoadU(d, mixed + width + k), b);
      c = hn::MulAdd(numbers, hn::LoadU(d, mixed + 2 * width + k), c);
      e = hn::MulAdd(numbers, hn::LoadU(d, mixed + 3 * width + k), e);
    }
    std::array<double, error_probes> sums{of_lanes(d, a), of_lanes(d, b), of_lanes(d, c),
                                          of_lanes(d, e)};
    for (; k < width; ++k) {
      for (std::size_t p = 0; p < error_probes; ++p) {
        sums[p] += static_cast<double>(x[k]) * mixed[p * width + k];
      }
    }
    if (y != nullptr) {
      auto f = hn::Zero(s), g = f, h = f, j = f;
      for (std::size_t i = 0; i < outputs; i += lanes_of<float>) {
        const auto signs_of = [&](std::size_t p) HWY_ATTR {
          return first_numbers(s, signs + p * outputs + i, outputs - i);
        };
        const auto numbers = first_numbers(s, y + i, outputs - i);
        f = hn::MulAdd(numbers, signs_of(0), f);
        g = hn::MulAdd(numbers, signs_of(1), g);
        h = hn::MulAdd(numbers, signs_of(2), h);
        j = hn::MulAdd(numbers, signs_of(3), j);
      }
      const std::array<double, error_probes> of_y{of_lanes(s, f), of_lanes(s, g), of_lanes(s, h),
                                                  of_lanes(s, j)};
      for (std::size_t p = 0; p < error_probes; ++p) sums[p] += probes.constant[p] - of_y[p];
      y += outputs;
    }
    double squares = 0;
    for (const double sum : sums) squares += sum * sum;
    errors[row] = std::sqrt(squares / error_probes);
  }
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(squares_of_rows);
ATTN_FOR_TARGETS(mix_some_columns);
ATTN_FOR_TARGETS(measure_row_errors);

RowSquares row_squares(const float* rows, std::size_t count, std::size_t width) noexcept {
  return ATTN_OF_TARGET(squares_of_rows)(rows, count, width);
}

void mix_columns(const float* W, const ErrorProbes& probes, std::size_t first,
                 std::size_t count) noexcept {
  ATTN_OF_TARGET(mix_some_columns)(W, probes, first, count);
}

void measure_errors(const ErrorProbes& probes, const float* x, const float* y, std::size_t count,
                    double* errors) noexcept {
  ATTN_OF_TARGET(measure_row_errors)(probes, x, y, count, errors);
}

}  // namespace attn::kernels
#endif
