#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attn/attention.hpp"

#include "attention/expression_rows.hpp"
#include "attention/geometry.hpp"
#include "attention/key_intervals.hpp"
#include "kernels/additive_scores.hpp"

namespace attn {

/// Whether T holds scores with that scale: they stay within its range, and within 5·10⁻⁵ of the
/// exact ones if T is float (docs/inside/numerics.md).
template <class T>
bool additive_scores_fit(const Additive& score, double scale);

/// Scores of additive attention in T, float or double, for blocks of queries: Σ_u w_v[u]
/// tanh(a_u + b_u) with a = W_q q and b = W_k k (Bahdanau et al. 2015). A score is within (44 +
/// h/2) u Σ|w_v| of the exact one for a and b in T; h is the hidden width, u half a unit in the
/// last place of 1.
template <class T>
class AdditiveScores {
 public:
  /// Projects queries and keys of the score of a request that has been checked.
  AdditiveScores(const Additive& score, const AttentionRequest& request, const Geometry& geometry);

  /// Whether rounding the projections to T leaves the scores precise; else there are no scores.
  bool precise() const { return precise_; }

  /// Numbers between the rows that compute() writes: all keys, padded.
  std::size_t stride() const { return panels_ * panel_keys_; }

  /// Writes scaled and capped scores of the queries from `first_query` on, one row of stride()
  /// numbers each. Query i has those of the keys starts[i] … ends[i] − 1; the others are undefined.
  void compute(std::size_t batch, std::size_t head, std::size_t first_query,
               std::span<const std::uint32_t> starts, std::span<const std::uint32_t> ends,
               T* rows) const;

 private:
  /// Projected rows of all heads as [batch, heads, length, units], one after the other.
  struct Projected {
    std::shared_ptr<const T> rows;
    std::size_t batch = 0, heads = 0, length = 0;
    bool repeated = false;  ///< whether there is one sample for all
  };
  Projected project(const Tensor& states, const Tensor& past, const Tensor& weight,
                    std::size_t heads, std::size_t threads);
  const T* row(const Projected& projected, std::size_t batch, std::size_t head,
               std::size_t i) const;
  void make_query_powers(std::size_t threads);
  void make_key_powers(std::size_t threads);

  std::size_t units_, row_count_, panel_keys_, panels_, group_;
  T scale_, softcap_;
  bool precise_ = true;
  double steepness_;  ///< change of a score per unit of length of a projected row, at most
  std::vector<T> numbers_, inverses_;  ///< w_v; AdditiveWeights::inverses
  kernels::AdditiveWeights<T> weights_{};
  bool wide_weights_ = false;  ///< whether a weight is too large for fractions, or NaN
  Projected queries_, keys_;
  std::shared_ptr<T> query_powers_, key_powers_;
  std::vector<T> largest_query_;  ///< per row: its largest power, infinity if it is wide
  std::vector<T> largest_key_;    ///< per panel: the largest power of its keys that are not wide
  std::vector<std::uint8_t> wide_keys_;    ///< per key, up to the panels' ends: 1 if it is wide
  std::vector<std::uint8_t> wide_panels_;  ///< per panel: 1 if it has a wide key
};

/// Parts of scores that are not products: those that are added, and expressions.
template <class T>
struct ScoreParts {
  /// Null, or added to the products before the mask; with `own` before its expression of scores.
  const AdditiveScores<T>* scores = nullptr;
  const OwnExpressions* own = nullptr;     ///< null, or expressions of scores and weights
  const ComparedRows* compared = nullptr;  ///< rows that these compare, or null
};

/// One attention of products by the kernels, computed in T for results in R; for 16-bit types in
/// float, each step rounded. Absent if numbers leave the range in which T is precise, or that of a
/// 16-bit type, or if an expression has no number for a key that is seen.
template <class T, class R = T>
std::optional<AttentionResult> kernel_attention(const AttentionOptions& options,
                                                const Sequences& sequences, double scale,
                                                const Geometry& geometry,
                                                const KeyIntervals& intervals,
                                                const ScoreParts<T>& parts = {},
                                                const Progress& progress = {});

}  // namespace attn
