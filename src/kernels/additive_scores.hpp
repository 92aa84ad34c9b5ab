#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Scores Σ_u w_u tanh(a_u + b_u) of queries a [queries, units] with keys b [keys, units], in float
/// or double.
///
/// With E = e²ᵃ and F = e²ᵇ, computed once a row, tanh(a + b) = 1 − 2 / (1 + E F). With c = 1/w, in
/// which a power of two keeps the range, w / (1 + E F) = 1 / d for d = c + (c E) F, and several
/// hidden units share one division: 1/d₀ + 1/d₁ = (d₀ + d₁) / (d₀ d₁), and so on; as many as the
/// range allows for the largest E and F of some queries and keys. Rows that hold NaN or a number
/// beyond ±34 are wide: their scores use tanh itself.
///
/// With u = 2⁻²⁴ (2⁻⁵³ in double), a score is within (44 + units / 2) u Σ|w| of the exact one for
/// these a and b; one of a wide row within (8 + units) u Σ|w|.

/// Length of a padded row of powers of one query, and number of keys in a panel
/// [additive_row_count(), additive_panel_keys()] of powers of keys. Both depend on the CPU target.
template <class T>
std::size_t additive_row_count(std::size_t units) noexcept;
template <class T>
std::size_t additive_panel_keys() noexcept;

/// The weights w in the form that fractions need.
template <class T>
struct AdditiveWeights {
  const T* inverses;  ///< c, a padded row
  T sum;              ///< Σ w
  T factor;           ///< twice the power of two that is in c
  T padding;          ///< share of each padding unit, to be taken from a score
  /// The largest 1 + E F for which 2, 4 and 8 units may share a division; 0 if none is.
  T most[3];
};

/// Fills `inverses`, additive_row_count() numbers, and `weights`. Weights below 2⁻⁴⁰ of the largest
/// (2⁻¹¹⁰ in double) are raised to that. Returns whether fractions can take the weights: all are
/// finite, and the largest is not nearly out of range.
bool additive_weights(const float* w, std::size_t units, float* inverses,
                      AdditiveWeights<float>& weights) noexcept;
bool additive_weights(const double* w, std::size_t units, double* inverses,
                      AdditiveWeights<double>& weights) noexcept;

/// Fills `powers`, a padded row, with c E of one query. Returns the largest E; infinity if the row
/// is wide.
float additive_query_powers(const float* a, std::size_t units, const float* inverses,
                            float* powers) noexcept;
double additive_query_powers(const double* a, std::size_t units, const double* inverses,
                             double* powers) noexcept;

/// Fills a panel with F of `keys` keys, `stride` numbers apart, and zeros for missing keys. wide[j]
/// becomes 1 if key j is wide, else 0. Returns the largest F of keys that are not wide.
float additive_key_powers(const float* b, std::size_t stride, std::size_t keys, std::size_t units,
                          float* panel, std::uint8_t* wide) noexcept;
double additive_key_powers(const double* b, std::size_t stride, std::size_t keys, std::size_t units,
                           double* panel, std::uint8_t* wide) noexcept;

/// Queries that are not wide, to compare with one panel: rows of additive_panel_keys() scores.
template <class T>
struct AdditivePanel {
  const T* const* powers;  ///< a row for each query
  std::size_t queries, units;
  const AdditiveWeights<T>* weights;
  const T* panel;
  T largest;  ///< upper bound of E F of any of these queries and keys
  T* const* scores;
};
void additive_scores(const AdditivePanel<float>& task) noexcept;
void additive_scores(const AdditivePanel<double>& task) noexcept;

/// The score of one pair by tanh itself, for any a and b.
float additive_score(const float* a, const float* b, const float* w, std::size_t units) noexcept;
double additive_score(const double* a, const double* b, const double* w,
                      std::size_t units) noexcept;

}  // namespace attn::kernels
