#pragma once

#include <cstddef>
#include <vector>

#include "attn/statistics.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The share of each input token that has arrived at each position after each layer (Abnar &
/// Zuidema 2020, section 3): Â = rows of (1 − r)·A + r·I divided by their sums, A being the heads
/// of a layer fused into one map and r the share of the residual; R₁ = Â₁, R_l = Â_l·R_{l−1}. Rows
/// are positions of the output, columns tokens of the input.
class Rollout {
 public:
  /// `lengths`: tokens of each of the B texts, at most L; rows and columns after a text's end stay
  /// zero.
  Rollout(const RolloutOptions& options, std::vector<std::size_t> lengths, std::size_t threads);

  /// Takes the next layer's maps [B,H,L,L], float32 or float64. Returns the rollout up to that
  /// layer, [B,L,L] in the type of the maps.
  Tensor next(const Tensor& maps);

 private:
  template <class T>
  Tensor joined_layer(const Tensor& maps, std::size_t sample) const;

  RolloutOptions options_;
  std::vector<std::size_t> lengths_;
  std::size_t threads_;
  std::vector<Tensor> rollouts_;  // one per sample: [n,n] up to the last layer
};

/// Dissimilarities of all heads of a stack (Clark et al. 2019, section 6): Jensen-Shannon
/// divergences of their rows in nats, summed over rows and samples. A row of n keys is smoothed
/// first: 0.999·A + 0.001/n.
class HeadDistances {
 public:
  explicit HeadDistances(std::size_t threads) : threads_(threads) {}

  /// Takes the maps [B,H,Lq,Lk] of one more layer. All layers have the same B, Lq and Lk. Rows
  /// without weight do not count.
  void add(const Tensor& maps);

  /// [N,N] float64 of all N heads, in the order in which they were added.
  Tensor distances() const;

 private:
  std::size_t threads_;
  std::vector<Tensor> layers_;
};

/// Points in the plane, [N,2] float64, whose distances are near the given ones, [N,N] float64
/// (classical scaling: Torgerson 1952): the two leading eigenvectors of −½ J D² J, times the roots
/// of their eigenvalues; zeros where an eigenvalue is negative or 0 but for rounding. The sign of
/// an axis makes its largest coordinate positive; of coordinates that are equally large to a
/// relative 1e-9, the first one.
Tensor scaled_to_plane(const Tensor& distances);

}  // namespace attn
