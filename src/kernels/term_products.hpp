#pragma once

#include <cstddef>

namespace attn::kernels {

/// Keys whose quadratic forms are computed together, side by side.
constexpr std::size_t form_keys = 8;

/// The numbers of double that pair_products() needs as scratch.
std::size_t pair_products_scratch(std::size_t count, std::size_t width) noexcept;

/// The products of vectors with one another, in double precision: that of vectors g and h ≤ g goes
/// to products[(g (g + 1) / 2 + h) · form_keys].
template <class T>
struct PairProducts {
  const T* const* vectors;
  std::size_t count, width;
  double *products, *scratch;
};
void pair_products(const PairProducts<float>& task) noexcept;
void pair_products(const PairProducts<double>& task) noexcept;

/// Σ_g Σ_{h≤g} a_g a_h products[g,h] of form_keys keys: sums[k], a_h of key k being
/// weights[h · stride + k]. Products of two different vectors have to count twice already.
/// False, and no sums, where all weights are 0.
template <class T>
struct QuadraticForms {
  const T* weights;
  std::size_t stride, count;
  const double* products;
  double* sums;
};
bool quadratic_forms(const QuadraticForms<float>& task) noexcept;
bool quadratic_forms(const QuadraticForms<double>& task) noexcept;

}  // namespace attn::kernels
