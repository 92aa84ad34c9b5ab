#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Scores Σ_u w_u tanh(a_u + b_u) of queries a [queries, units] with keys b [keys, units].
///
/// With E = e²ᵃ and F = e²ᵇ, computed once a row, tanh(a + b) = 1 − 2 / (1 + E F), and four hidden
/// units share one division: w₀/d₀ + w₁/d₁ = (w₀ d₁ + w₁ d₀) / (d₀ d₁), and so on. Each d is capped
/// at 2³¹, beside which 1 is lost anyway, so that products of four stay in range. Rows that hold
/// NaN or a number beyond ±43, of which E or F would leave the range, are wide: they go through
/// tanh itself.
///
/// With u = 2⁻²⁴ and units padded to fours, a score is within (44 + units / 2) u Σ|w| of the exact
/// one for these a and b; one of a wide row within (8 + units) u Σ|w|.

/// How many floats the powers of one query take, a padded row; and how many keys stand side by side
/// in a panel [additive_row_floats(), additive_panel_keys()] of the powers of keys. What is made
/// for one CPU target serves no other.
std::size_t additive_row_floats(std::size_t units) noexcept;
std::size_t additive_panel_keys() noexcept;

/// Powers of one row of queries, zeros behind the last. Returns the largest, or infinity if the row
/// is wide.
float additive_query_powers(const float* a, std::size_t units, float* powers) noexcept;

/// Powers of up to a panel's keys, `stride` apart; zeros for keys that are not there. wide[j] tells
/// whether key j is wide. Returns the largest power of those that are not.
float additive_key_powers(const float* b, std::size_t stride, std::size_t keys, std::size_t units,
                          float* panel, std::uint8_t* wide) noexcept;

/// Queries, none of them wide, with one panel: rows of additive_panel_keys() scores.
struct AdditivePanel {
  const float* const* powers;  ///< a row for each query
  std::size_t queries, units;
  const float* weights;  ///< w, zeros up to additive_row_floats()
  float weight_sum;
  const float* panel;
  bool capped;  ///< whether a product E F may exceed additive_cap
  float* const* scores;
};
constexpr float additive_cap = 2147483520.0F;  // just below 2³¹
void additive_scores(const AdditivePanel& task) noexcept;

/// The score of one pair from a and b themselves, whatever they are.
float additive_score(const float* a, const float* b, const float* w, std::size_t units) noexcept;

}  // namespace attn::kernels
