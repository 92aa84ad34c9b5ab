#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// Reads the terms between contents and positions of a model that has them, layer by layer.
class DistanceTermsReader {
 public:
  /// `longest`: tokens of the longest text. Keeps references to model and weights.
  DistanceTermsReader(const Architecture& model, const StackWeights& weights, std::size_t longest,
                      std::size_t threads);

  /// `contents` are the projections of the layer's own queries and keys.
  DisentangledTerms of_layer(std::size_t n, const AttentionWeights& contents) const;

 private:
  Tensor sinusoids() const;
  Tensor shifts(WeightPurpose purpose, std::size_t n, const Tensor& rows) const;

  const Architecture& model_;
  const StackWeights& weights_;
  std::size_t threads_;
  DistanceRows distances_;
  Tensor table_;  // a row for each distance that has its own, float64 [2·span,D]
};

}  // namespace attn
