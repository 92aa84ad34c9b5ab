#include "kernels/term_products.hpp"

#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/term_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using ProductTag = hn::CappedTag<double, form_keys>;
using ProductVector = hn::Vec<ProductTag>;

HWY_INLINE ProductVector wide_numbers(ProductTag d, const double* from) {
  return hn::LoadU(d, from);
}

HWY_INLINE ProductVector wide_numbers(ProductTag d, const float* from) {
  const hn::Rebind<float, ProductTag> narrow;
  return hn::PromoteTo(d, hn::LoadU(narrow, from));
}

// The products of a vector with `others` ones that follow one another, `width` numbers each.
template <std::size_t others>
HWY_INLINE void multiply_with(const double* vector, const double* first, std::size_t width,
                              double* products) {
  const ProductTag d;
  std::array<ProductVector, others> sums;
  sums.fill(hn::Zero(d));
  for (std::size_t i = 0; i < width; i += hn::Lanes(d)) {
    const ProductVector own = hn::LoadU(d, vector + i);
    for (std::size_t k = 0; k < others; ++k) {
      sums[k] = hn::MulAdd(own, hn::LoadU(d, first + k * width + i), sums[k]);
    }
  }
  for (std::size_t k = 0; k < others; ++k) {
    products[k * form_keys] = hn::GetLane(hn::SumOfLanes(d, sums[k]));
  }
}

template <class T>
void all_products(const PairProducts<T>& task) {
  // All widened first: each is read as often as there are others.
  const std::size_t padded = (task.width + form_keys - 1) / form_keys * form_keys;
  for (std::size_t g = 0; g < task.count; ++g) {
    double* const own = task.scratch + g * padded;
    std::copy_n(task.vectors[g], task.width, own);
    std::fill(own + task.width, own + padded, 0.0);
  }
  double* to = task.products;
  for (std::size_t g = 0; g < task.count; ++g) {
    const double* const own = task.scratch + g * padded;
    std::size_t h = 0;
    constexpr std::size_t together = 4;
    for (; h + together <= g + 1; h += together, to += together * form_keys) {
      multiply_with<together>(own, task.scratch + h * padded, padded, to);
    }
    for (; h <= g; ++h, to += form_keys) {
      multiply_with<1>(own, task.scratch + h * padded, padded, to);
    }
  }
}

template <class T>
bool all_forms(const QuadraticForms<T>& task) {
  const ProductTag d;
  const std::size_t lanes = hn::Lanes(d);
  bool any = false;
  for (std::size_t k = 0; k < form_keys; k += lanes) {
    ProductVector sum = hn::Zero(d);
    const double* products = task.products + k;
    for (std::size_t g = 0; g < task.count; ++g) {
      const ProductVector a = wide_numbers(d, task.weights + g * task.stride + k);
      any = any || !hn::AllTrue(d, hn::Eq(a, hn::Zero(d)));
      // Two sums, so that one need not wait for the other.
      ProductVector even = hn::Zero(d), odd = hn::Zero(d);
      std::size_t h = 0;
      for (; h + 2 <= g + 1; h += 2, products += 2 * form_keys) {
        const T* const weights = task.weights + h * task.stride + k;
        even = hn::MulAdd(hn::LoadU(d, products), wide_numbers(d, weights), even);
        odd = hn::MulAdd(hn::LoadU(d, products + form_keys), wide_numbers(d, weights + task.stride),
                         odd);
      }
      if (h <= g) {
        even = hn::MulAdd(hn::LoadU(d, products),
                          wide_numbers(d, task.weights + h * task.stride + k), even);
        products += form_keys;
      }
      sum = hn::MulAdd(a, hn::Add(even, odd), sum);
    }
    hn::StoreU(sum, d, task.sums + k);
  }
  return any;
}

void float_products(const PairProducts<float>& task) {
  all_products(task);
}
void double_products(const PairProducts<double>& task) {
  all_products(task);
}
bool float_forms(const QuadraticForms<float>& task) {
  return all_forms(task);
}
bool double_forms(const QuadraticForms<double>& task) {
  return all_forms(task);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

HWY_EXPORT(float_products);
HWY_EXPORT(double_products);
HWY_EXPORT(float_forms);
HWY_EXPORT(double_forms);

std::size_t pair_products_scratch(std::size_t count, std::size_t width) noexcept {
  return count * ((width + form_keys - 1) / form_keys * form_keys);
}

void pair_products(const PairProducts<float>& task) noexcept {
  HWY_DYNAMIC_DISPATCH(float_products)(task);
}
void pair_products(const PairProducts<double>& task) noexcept {
  HWY_DYNAMIC_DISPATCH(double_products)(task);
}
bool quadratic_forms(const QuadraticForms<float>& task) noexcept {
  return HWY_DYNAMIC_DISPATCH(float_forms)(task);
}
bool quadratic_forms(const QuadraticForms<double>& task) noexcept {
  return HWY_DYNAMIC_DISPATCH(double_forms)(task);
}

}  // namespace attn::kernels
#endif
