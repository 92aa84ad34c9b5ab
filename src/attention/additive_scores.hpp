#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "kernels/additive_scores.hpp"

namespace attn {

/// Whether scores with that scale stay in the range of T.
template <class T>
bool additive_scores_fit(const Additive& score, double scale);

/// The scores of additive attention in T, float or double, for blocks of queries: Σ_u w_v[u]
/// tanh(a_u + b_u) with a = W_q q and b = W_k k (Bahdanau et al. 2015). Each score is within (44 +
/// h/2) u Σ|w_v| of the exact one for the a and b of T, h units being hidden and u half a unit in
/// the last place of 1.
template <class T>
class AdditiveScores {
 public:
  /// Projects queries and keys. The request, whose score it is, must have been checked.
  AdditiveScores(const Additive& score, const AttentionRequest& request, const Geometry& geometry);

  /// Numbers between the rows that compute() writes: the keys, and what is behind the last one.
  std::size_t stride() const { return panels_ * panel_keys_; }

  /// Scaled and capped scores of the queries from `first_query` on, one row of stride() numbers
  /// each. Query i needs those of the keys starts[i] … ends[i] − 1; what the others are is not
  /// told.
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
                    std::size_t heads, std::size_t threads) const;
  const T* row(const Projected& projected, std::size_t batch, std::size_t head,
               std::size_t i) const;
  void make_query_powers(std::size_t threads);
  void make_key_powers(std::size_t threads);

  std::size_t units_, row_count_, panel_keys_, panels_, group_;
  T scale_, softcap_;
  std::vector<T> numbers_, inverses_;  ///< w_v; what fractions make of it, row_count_ numbers
  kernels::AdditiveWeights<T> weights_{};
  bool wide_weights_ = false;  ///< whether a weight is too large for fractions, or NaN
  Projected queries_, keys_;
  std::shared_ptr<T> query_powers_, key_powers_;
  std::vector<T> largest_query_;  ///< a row: its largest power, infinity if it is wide
  std::vector<T> largest_key_;    ///< a panel: the largest power of its keys that are not wide
  std::vector<std::uint8_t> wide_keys_;    ///< a key, up to the panels' ends
  std::vector<std::uint8_t> wide_panels_;  ///< whether a panel has a wide key
};

}  // namespace attn
