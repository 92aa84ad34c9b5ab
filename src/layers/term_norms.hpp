#pragma once

#include "attn/tensor.hpp"

#include "layers/layer.hpp"

namespace attn {

/// Lengths of the vectors that the output of an attention is the sum of. The term of head h and key
/// j is f_h(x_j) = W_O,h (W_V x_j + b_V), times the layer's scale of branches.
struct TermNorms {
  /// [H,L,L]: ‖A_h[i,j] f_h(x_j)‖ (Kobayashi et al. 2020, section 2.2).
  Tensor of_heads;
  /// [L,L]: ‖Σ_h A_h[i,j] f_h(x_j)‖ (ibid.).
  Tensor of_all_heads;
  /// [L,L]: the same in the block's output, with the residual x_i where j = i, and through the
  /// norms of branch and sum without their biases (Kobayashi et al. 2021, section 3).
  Tensor of_block;
  /// [L]: the mixing ratio of row i, ‖Σ_{j≠i}‖ / (‖Σ_{j≠i}‖ + ‖j = i‖) (ibid.).
  Tensor mixing;
};

/// The norms of the self-attention of a step of one sample, which was made with
/// StepOptions::inside and weights; the attention has no gate. Throws Error(input) if there is no
/// room for the terms. Sums of terms are computed from their products with one another,
/// G_j[h,h'] = f_h(x_j)·f_h'(x_j), so that no [H,L,L,D] is made.
TermNorms term_norms(const Layer& layer, const LayerStep& step);

}  // namespace attn
