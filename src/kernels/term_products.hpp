#pragma once

#include <cstddef>

namespace attn::kernels {

/// Keys whose quadratic forms are computed together, one per lane.
constexpr std::size_t form_keys = 8;

/// Distance between vectors for pair_products(), in numbers; those beyond the width are 0.
constexpr std::size_t padded_width(std::size_t width) noexcept {
  return (width + form_keys - 1) / form_keys * form_keys;
}

/// The products of `count` vectors with each other: that of vectors g and h ≤ g goes to
/// products[(g (g + 1) / 2 + h) · form_keys]. `padded` is padded_width() of their width.
void pair_products(const double* vectors, std::size_t count, std::size_t padded,
                   double* products) noexcept;

/// Quadratic forms sums[k] = Σ_g Σ_{h≤g} a_g a_h products[g,h] of form_keys keys, with a_h of key k
/// at weights[h · stride + k]. Products of two different vectors are doubled beforehand. `scratch`
/// holds count · form_keys numbers. Returns false, without sums, if all weights are 0.
template <class T>
struct QuadraticForms {
  const T* weights;
  std::size_t stride, count;
  const double* products;
  double *sums, *scratch;
};
bool quadratic_forms(const QuadraticForms<float>& task) noexcept;
bool quadratic_forms(const QuadraticForms<double>& task) noexcept;

}  // namespace attn::kernels
