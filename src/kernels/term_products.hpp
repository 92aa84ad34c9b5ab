#pragma once

#include <cstddef>

namespace attn::kernels {

/// Keys whose quadratic forms are computed together, side by side.
constexpr std::size_t form_keys = 8;

/// Vectors for pair_products() stand so many numbers apart, those behind their width being 0.
constexpr std::size_t padded_width(std::size_t width) noexcept {
  return (width + form_keys - 1) / form_keys * form_keys;
}

/// The products of vectors with one another: that of vectors g and h ≤ g goes to
/// products[(g (g + 1) / 2 + h) · form_keys]. `padded` is what padded_width() gives.
void pair_products(const double* vectors, std::size_t count, std::size_t padded,
                   double* products) noexcept;

/// Σ_g Σ_{h≤g} a_g a_h products[g,h] of form_keys keys: sums[k], a_h of key k being
/// weights[h · stride + k]. Products of two different vectors have to count twice already.
/// `scratch` holds count · form_keys numbers. False, and no sums, where all weights are 0.
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
