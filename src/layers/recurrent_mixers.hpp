#pragma once

#include <cstddef>
#include <limits>

#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "layers/causal_convolution.hpp"

namespace attn {

/// Sizes of a gated short convolution.
struct ShortConvolutionSizes {
  std::size_t kernel = 3;  ///< tokens that it sees, its own among them
};

/// The learned numbers of a gated short convolution over states of width D (Liquid AI 2025, "LFM2
/// Technical Report", section 2): c ⊙ conv(b ⊙ x), with b, c and x side by side in one product.
struct ShortConvolution {
  StoredLinear parts;             ///< [3·D,D]
  CausalConvolution convolution;  ///< [D,K]
  StoredLinear output;            ///< [D,D]
};

/// The outputs [..,L,D] before the projection for states x [L,D] or [B,L,D], in the type of x.
Tensor short_convolution(const ShortConvolution& rule, const Tensor& x, std::size_t threads,
                         MixerState& state);

/// Sizes of a selective state space of H heads of width p. Head h takes part in group h / (H / G).
struct StateSpaceSizes {
  std::size_t heads = 128, width = 64;   ///< H and p
  std::size_t states = 128, groups = 1;  ///< n numbers of memory for each of p; G
  std::size_t kernel = 4;
  /// Width of the vector that steps are made of (Mamba). 0 = Mamba 2.
  std::size_t rank = 0;
  double least_step = 0, most_step = std::numeric_limits<double>::infinity();
  bool norm_before_gate = false;

  std::size_t inner() const noexcept { return heads * width; }
  /// Channels of a token that are convolved: x and in Mamba 2 behind it B and C of all groups.
  std::size_t channels() const noexcept { return inner() + (rank == 0 ? 2 * groups * states : 0); }
};

/// The learned numbers of a selective state space over states of width D: Mamba 2 (Dao and Gu 2024,
/// section 7), or Mamba (Gu and Dao 2023, algorithm 2), each channel of which is a head of its own,
/// with B, C and what steps are made of computed of the convolved channels.
struct StateSpace {
  StateSpaceSizes sizes;
  Activation activation = Activation::silu;  ///< of the convolved channels
  StoredLinear gate;                         ///< [H·p,D]
  StoredLinear channels;                     ///< [C,D]
  CausalConvolution convolution;             ///< [C,K]
  StoredLinear selection;                    ///< Mamba: [rank + 2n,H·p]; else absent
  StoredLinear step;                         ///< [H,D], or [H,rank]
  /// RMS norms of the parts of the selection (Jamba); absent = none.
  Tensor step_norm, input_norm, output_norm;
  Tensor step_bias;  ///< [H]
  Tensor decay_log;  ///< [H], or [H,n]
  Tensor skip;       ///< [H]
  Tensor norm;       ///< [H·p], weights of an RMS norm of each group's heads; absent = none
  StoredLinear output;
};

/// The outputs [..,L,H·p] of the heads for states x [L,D] or [B,L,D], before the projection, in the
/// type of x. `state` is that before the first token, and after the last one then.
///
/// With Δ = softplus(step + step_bias) within the limits and A = −exp(decay_log), each token
/// changes the memory S [p,n] of a head to S ← e^(Δ A) S + Δ x ⊗ B and reads S C + skip · x from
/// it, which is multiplied by silu(gate x), with a norm before or after that.
Tensor state_space(const StateSpace& rule, const Tensor& x, double eps, std::size_t threads,
                   MixerState& state);

}  // namespace attn
