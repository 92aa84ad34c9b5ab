#pragma once

#include <cstddef>
#include <vector>

#include "attn/heads.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// What of each token at the input arrives at each position, layer by layer (Abnar & Zuidema 2020,
/// section 3): Â = rows of (1 − r)·A + r·I divided by their sums, A being the heads of a layer made
/// one and r the residual's share; R₁ = Â₁, R_l = Â_l·R_{l−1}. Rows are positions of the output,
/// columns tokens of the input.
class Rollout {
 public:
  /// Of texts of these lengths; what lies behind a text's end stays zero.
  Rollout(const RolloutOptions& options, std::vector<std::size_t> lengths, std::size_t threads);

  /// The next layer's maps [B,H,L,L]. Gives the rollout so far, [B,L,L] in their type.
  Tensor next(const Tensor& maps);

 private:
  template <class T>
  Tensor joined_layer(const Tensor& maps, std::size_t sample) const;

  RolloutOptions options_;
  std::vector<std::size_t> lengths_;
  std::size_t threads_;
  std::vector<Tensor> rollouts_;  // of each sample, [n,n], so far
};

}  // namespace attn
