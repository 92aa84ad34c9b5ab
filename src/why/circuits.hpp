#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "attn/tensor.hpp"

#include "layers/embedding_and_head.hpp"
#include "models/model_place.hpp"
#include "models/pass.hpp"

namespace attn {

/// What the weights of one head say by themselves (Elhage et al. 2021, "A Mathematical Framework
/// for Transformer Circuits"). With the row vectors of its d-wide space, W_OV = W_V W_O [D,D] is
/// what it moves from a token that it looks at, and W_QK = W_Q W_Kᵀ [D,D] where it looks. The
/// weights of norms that are read through belong to the matrices; their denominators, biases,
/// rotations and the scale of scores do not. Layer norms also take away the mean of what is read
/// and, as nobody reads it, of what is written.
struct HeadCircuit {
  ModelPlace head;
  double ov_norm = 0, qk_norm = 0;           ///< Frobenius norms
  std::vector<double> ov_values, qk_values;  ///< singular values, the largest first, at most d
  /// Eigenvalues of the full circuit W_E W_OV W_U [V,V], of logits less their mean over all tokens
  /// unless they are capped: the d that may differ from 0, the largest first. Empty where the model
  /// has no head of one matrix, or a projection after its embedding.
  std::vector<std::complex<double>> eigenvalues;

  /// Σ λ / Σ |λ|, from −1 to 1: a head that copies tokens has positive eigenvalues (ibid.). Absent
  /// without eigenvalues.
  std::optional<double> copying() const;
};

/// Number of inputs of a head: its queries, keys and values.
inline constexpr std::size_t composition_inputs = 3;

/// Heads of a stack and how they feed each other.
struct StackCircuits {
  std::vector<HeadCircuit> heads;
  /// By input of the later head, float64 [heads,heads] from row to column, NaN where the row's
  /// layer is not before the column's: ‖W_OV W‖ / (‖W_OV‖ ‖W‖) with W = W_QK, W_QKᵀ and W_OV of the
  /// later head, Frobenius norms (ibid., "Composition scores").
  std::array<Tensor, composition_inputs> compositions;
};

/// The circuits of the self-attentions of a model's last stack, without any [V,V]. Query heads that
/// share keys and values have these each. Throws Error(input) for a model whose queries and keys
/// are made of narrow vectors. `done` takes the layers that are finished and all of them.
class ModelCircuits {
 public:
  explicit ModelCircuits(const ModelPass& pass);

  StackCircuits all(const std::function<void(std::size_t done, std::size_t all)>& done = {}) const;

  /// Row of a token of the full circuit W_E W_OV W_U [V]: what the head adds to the logits where it
  /// looks at that token, but for denominators. Absent as HeadCircuit::eigenvalues.
  std::optional<std::vector<double>> moved(const ModelPlace& head, std::size_t token) const;
  /// Row of a token of W_E W_QK W_Eᵀ [V]: which tokens it looks at from there, likewise.
  std::vector<double> sought(const ModelPlace& head, std::size_t token) const;

 private:
  struct LayerMatrices;
  LayerMatrices matrices(std::size_t layer) const;
  struct LayerFeeds;
  /// Adds the circuits of a layer's heads. `tokens`: of embedding_by_words(), or absent.
  LayerFeeds read_layer(std::size_t layer, const Tensor& tokens,
                        std::vector<HeadCircuit>& heads) const;
  /// Composition scores [earlier heads,later heads] of one input.
  std::vector<double> scores(const LayerFeeds& earlier, const LayerFeeds& later,
                             std::size_t input) const;
  bool has_tokens() const;
  Tensor embedding_by_words() const;
  std::vector<double> embedded(std::size_t token) const;

  const Architecture& model_;
  std::size_t threads_;
  ModelOptions options_;
  ModelPlace::Stack name_;
  Stack stack_;
  std::optional<LogitsHead> words_;
};

}  // namespace attn
