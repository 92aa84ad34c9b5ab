#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "layers/causal_convolution.hpp"

namespace attn {

/// Sizes of a gated delta rule. Value head h reads the queries and keys of head h / (H / G).
struct DeltaSizes {
  std::size_t key_heads = 16, value_heads = 32;  ///< G and H
  std::size_t key_width = 128, value_width = 128;
  std::size_t kernel = 4;  ///< tokens that a convolution sees, its own among them

  /// Queries, keys and values of a token side by side.
  std::size_t channels() const noexcept {
    return 2 * key_heads * key_width + value_heads * value_width;
  }
};

/// The learned numbers of a gated delta rule over states of width D, with H heads of values. All
/// queries, all keys and all values of a token stand side by side as C channels.
struct DeltaRule {
  DeltaSizes sizes;
  StoredLinear query_key_value;  ///< [C,D]
  StoredLinear gate;             ///< [H·dv,D]
  StoredLinear strength, decay;  ///< [H,D]
  Tensor convolution;            ///< [C,kernel]
  Tensor decay_log, decay_bias;  ///< [H]
  Tensor norm;                   ///< [dv], weights of the RMS norm of a head's output
  StoredLinear output;           ///< [D,H·dv]
};

/// The outputs [..,L,H·dv] of the heads for states x [L,D] or [B,L,D], before the projection, in
/// the type of x. `state` is that before the first token, and after the last one then.
///
/// Queries, keys and values go through a causal convolution of each channel and silu; queries and
/// keys are divided by their lengths (ε 10⁻⁶ within the root). With g = −exp(decay_log)·
/// softplus(decay x + decay_bias) and β = σ(strength x), each token changes the memory S [dk,dv] of
/// a head to S ← e^g S + k ⊗ β(v − e^g Sᵀk) and reads Sᵀq/√dk from it (Yang et al. 2024, "Gated
/// Delta Networks", equation 10), which is normed and multiplied by silu(gate x).
Tensor delta_rule(const DeltaRule& rule, const Tensor& x, double eps, std::size_t threads,
                  MixerState& state);

}  // namespace attn
