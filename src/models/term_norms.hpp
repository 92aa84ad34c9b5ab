#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/stored_matrix.hpp"

namespace attn {

/// One sample's self-attention in a layer, with all that its output is the sum of.
struct AttendedBlock {
  Tensor value;         ///< [1,L,G·d], of G heads of values
  Tensor weights;       ///< [1,H,L,L]
  Tensor heads;         ///< [1,L,H·d], before the output projection; zeros for heads that are off
  StoredLinear output;  ///< the output projection
  Tensor residual;      ///< [1,L,D], what the branch is added to
  std::vector<std::size_t> heads_off;
  /// A norm of the branch before it is added; one of the sum.
  std::optional<HeadNorm> branch_norm, sum_norm;
};

/// How long the vectors are that the output of an attention is the sum of. With the term
/// f_h(x_j) = W_O,h (W_V x_j + b_V) of head h:
struct TermNorms {
  /// [H,L,L]: ‖A_h[i,j] f_h(x_j)‖ (Kobayashi et al. 2020, section 2.2).
  Tensor of_heads;
  /// [L,L]: ‖Σ_h A_h[i,j] f_h(x_j)‖ (ibid.).
  Tensor of_all_heads;
  /// [L,L]: the same as the block gives it on, with the residual x_i where j = i, and through the
  /// norms of branch and sum, without their biases (Kobayashi et al. 2021, section 3).
  Tensor of_block;
  /// [L]: of row i, ‖Σ_{j≠i}‖ / (‖Σ_{j≠i}‖ + ‖j = i‖), how much of others is mixed in (ibid.).
  Tensor mixing;
};

/// Throws Error(input) if there is no room for the terms. Sums of terms go through their products
/// with one another, G_j[h,h'] = f_h(x_j)·f_h'(x_j), so that no [H,L,L,D] is made.
TermNorms term_norms(const AttendedBlock& block, double eps, std::size_t threads);

}  // namespace attn
