#include "kernels/row_functions.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/term_products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using ProductTag = hn::CappedTag<double, form_keys>;
using ProductVector = hn::Vec<ProductTag>;

HWY_INLINE ProductVector wide_numbers(ProductTag d, const double* from) {
  return hn::LoadU(d, from);
}

HWY_INLINE ProductVector wide_numbers(ProductTag d, const float* from) {
  const hn::Rebind<float, ProductTag> single;
  return hn::PromoteTo(d, hn::LoadU(single, from));
}

// The products of a vector with `others` adjacent ones of `width` numbers each.
template <std::size_t others>
HWY_INLINE void multiply_with(const double* vector, const double* first, std::size_t width,
                              double* products) {
  const ProductTag d;
  ProductVector sums[others];
  for (ProductVector& sum : sums) sum = hn::Zero(d);
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

void all_products(const double* vectors, std::size_t count, std::size_t padded, double* products) {
  constexpr std::size_t together = 4;
  for (std::size_t g = 0; g < count; ++g) {
    const double* const own = vectors + g * padded;
    std::size_t h = 0;
    for (; h + together <= g + 1; h += together, products += together * form_keys) {
      multiply_with<together>(own, vectors + h * padded, padded, products);
    }
    for (; h <= g; ++h, products += form_keys) {
      multiply_with<1>(own, vectors + h * padded, padded, products);
    }
  }
}

template <class T>
bool all_forms(const QuadraticForms<T>& task) {
  const ProductTag d;
  const std::size_t lanes = hn::Lanes(d);
  bool any = false;
  for (std::size_t h = 0; h < task.count; ++h) {
    for (std::size_t k = 0; k < form_keys; k += lanes) {
      const ProductVector a = wide_numbers(d, task.weights + h * task.stride + k);
      any = any || !hn::AllTrue(d, hn::Eq(a, hn::Zero(d)));
      hn::StoreU(a, d, task.scratch + h * form_keys + k);
    }
  }
  if (!any) return false;
  for (std::size_t k = 0; k < form_keys; k += lanes) {
    ProductVector sum = hn::Zero(d);
    const double *products = task.products + k, *weights = task.scratch + k;
    for (std::size_t g = 0; g < task.count; ++g) {
      // Two independent chains of additions.
      ProductVector even = hn::Zero(d), odd = hn::Zero(d);
      std::size_t h = 0;
      for (; h + 2 <= g + 1; h += 2, products += 2 * form_keys) {
        even = hn::MulAdd(hn::LoadU(d, products), hn::LoadU(d, weights + h * form_keys), even);
        odd = hn::MulAdd(hn::LoadU(d, products + form_keys),
                         hn::LoadU(d, weights + (h + 1) * form_keys), odd);
      }
      if (h <= g) {
        even = hn::MulAdd(hn::LoadU(d, products), hn::LoadU(d, weights + h * form_keys), even);
        products += form_keys;
      }
      sum = hn::MulAdd(hn::LoadU(d, weights + g * form_keys), hn::Add(even, odd), sum);
    }
    hn::StoreU(sum, d, task.sums + k);
  }
  return true;
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

ATTN_FOR_TARGETS(all_products);
ATTN_FOR_TARGETS(float_forms);
ATTN_FOR_TARGETS(double_forms);

void pair_products(const double* vectors, std::size_t count, std::size_t padded,
                   double* products) noexcept {
  ATTN_OF_TARGET(all_products)(vectors, count, padded, products);
}

bool quadratic_forms(const QuadraticForms<float>& task) noexcept {
  return ATTN_OF_TARGET(float_forms)(task);
}
bool quadratic_forms(const QuadraticForms<double>& task) noexcept {
  return ATTN_OF_TARGET(double_forms)(task);
}

}  // namespace attn::kernels
#endif
