#pragma once

#include <cstddef>
#include <vector>

#include "layers/delta_rule.hpp"
#include "layers/layer.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// Reads the projections of a stack's attentions, however the file orders their rows: apart or in
/// one tensor, by heads, groups or parts, with gates among them, or through narrow vectors. Those
/// of layer `n` are picked where they lie; matrices stay in the file.
class ProjectionReader {
 public:
  /// Keeps references to both.
  ProjectionReader(const Architecture& model, const StackWeights& weights)
      : model_(model), weights_(weights) {}

  AttentionWeights self(std::size_t n) const;
  AttentionWeights cross(std::size_t n) const;
  /// The weights of a layer of linear attention.
  DeltaRule linear_attention(std::size_t n) const;

 private:
  AttentionWeights projections(WeightPurpose query, WeightPurpose key, WeightPurpose value,
                               WeightPurpose output, std::size_t n) const;
  AttentionWeights fused_projections(std::size_t n) const;
  AttentionWeights latent_projections(std::size_t n) const;
  std::vector<std::size_t> rows_by_halves(std::size_t heads) const;
  void split_gate(AttentionWeights& attention) const;
  void split_groups(std::size_t n, DeltaRule& own) const;

  const Architecture& model_;
  const StackWeights& weights_;
};

}  // namespace attn
