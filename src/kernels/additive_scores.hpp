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
/// largest E and F of some queries and keys leave in range. Rows that hold NaN or a number beyond
/// ±34 are wide: they go through tanh itself.
///
/// With u = 2⁻²⁴ (2⁻⁵³ in double), a score is within (44 + units / 2) u Σ|w| of the exact one for
/// these a and b; one of a wide row within (8 + units) u Σ|w|.

/// How many numbers the powers of one query take, a padded row; and how many keys stand side by
/// side in a panel [additive_row_count(), additive_panel_keys()] of the powers of keys. What is
/// made for one CPU target serves no other.
template <class T>
std::size_t additive_row_count(std::size_t units) noexcept;
template <class T>
std::size_t additive_panel_keys() noexcept;

/// w as fractions take it.
template <class T>
struct AdditiveWeights {
  const T* inverses;  ///< c, a padded row
  T sum;              ///< Σ w
  T factor;           ///< twice the power of two that is in c
  T padding;          ///< what each unit behind the last one takes from a score
  /// The largest 1 + E F for which 2, 4 and 8 units may share a division; 0 if none is.
  T most[3];
};

/// Fills `inverses`, additive_row_count() numbers. Weights below 2⁻⁴⁰ of the largest (2⁻¹¹⁰ in
/// double) count as so much. Returns whether fractions can take the weights: they are finite, and
/// neither is the largest nearly out of range.
bool additive_weights(const float* w, std::size_t units, float* inverses,
                      AdditiveWeights<float>& weights) noexcept;
bool additive_weights(const double* w, std::size_t units, double* inverses,
                      AdditiveWeights<double>& weights) noexcept;

/// c E of one row of queries, a padded row. Returns the largest E, or infinity if the row is wide.
float additive_query_powers(const float* a, std::size_t units, const float* inverses,
                            float* powers) noexcept;
double additive_query_powers(const double* a, std::size_t units, const double* inverses,
                             double* powers) noexcept;

/// F of up to a panel's keys, `stride` apart; zeros for keys that are not there. wide[j] tells
/// whether key j is wide. Returns the largest F of those that are not.
float additive_key_powers(const float* b, std::size_t stride, std::size_t keys, std::size_t units,
                          float* panel, std::uint8_t* wide) noexcept;
double additive_key_powers(const double* b, std::size_t stride, std::size_t keys, std::size_t units,
                           double* panel, std::uint8_t* wide) noexcept;

/// Queries, none of them wide, with one panel: rows of additive_panel_keys() scores.
template <class T>
struct AdditivePanel {
  const T* const* powers;  ///< a row for each query
  std::size_t queries, units;
  const AdditiveWeights<T>* weights;
  const T* panel;
  T largest;  ///< E F of any of these queries with any of these keys, or more
  T* const* scores;
};
void additive_scores(const AdditivePanel<float>& task) noexcept;
void additive_scores(const AdditivePanel<double>& task) noexcept;

/// The score of one pair from a and b themselves, whatever they are.
float additive_score(const float* a, const float* b, const float* w, std::size_t units) noexcept;
double additive_score(const double* a, const double* b, const double* w,
                      std::size_t units) noexcept;

}  // namespace attn::kernels
