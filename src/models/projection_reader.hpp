#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "layers/layer.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// Reads the projections of a stack's attentions, however the file orders their rows: apart or in
/// one tensor, by heads, groups or parts, with gates among them, or through narrow vectors. Those
/// of layer `n` are picked where they lie; matrices stay in the file.
class ProjectionReader {
 public:
  /// Keeps references to all.
  ProjectionReader(const Architecture& model, const ModelStack& stack, const StackWeights& weights)
      : model_(model), stack_(stack), weights_(weights) {}

  AttentionWeights self(std::size_t n) const;
  AttentionWeights cross(std::size_t n) const;
  /// What mixes the tokens of a layer without attention weights; absent in models of one kind.
  std::optional<TokenMixer> mixer(std::size_t n) const;

 private:
  DeltaRule linear_attention(const DeltaSizes& sizes, std::size_t n) const;
  ShortConvolution short_convolution(std::size_t n) const;
  StateSpace state_space(const ModelStateSpace& sizes, std::size_t n) const;
  void multiply_parts(const ModelStateSpace& sizes, StateSpace& own) const;
  CausalConvolution convolution(WeightPurpose purpose, std::size_t n) const;
  AttentionWeights projections(WeightPurpose query, WeightPurpose key, WeightPurpose value,
                               WeightPurpose output, std::size_t n) const;
  AttentionWeights fused_projections(std::size_t n) const;
  AttentionWeights latent_projections(std::size_t n) const;
  std::vector<std::size_t> rows_by_halves(std::size_t heads) const;
  std::vector<std::size_t> exchanged_halves(std::size_t heads) const;
  void split_gate(AttentionWeights& attention) const;
  void split_groups(std::size_t n, DeltaRule& own) const;

  std::size_t head_width(std::size_t n) const { return stack_.layers[n].head_width; }
  std::size_t kv_heads(std::size_t n) const { return stack_.layers[n].kv_heads; }

  const Architecture& model_;
  const ModelStack& stack_;
  const StackWeights& weights_;
};

}  // namespace attn
