#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "attn/spec.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Dropout on the weights, as in training: each is kept with the probability 1 − p and then divided
/// by it, else 0 (Srivastava et al. 2014).
struct Dropout {
  double p = 0;
  /// Draws which weights of the given shape are kept: a boolean tensor.
  std::function<Tensor(const Shape&)> draw;
};

/// One attention to compute. Field names are those of an input document, and errors name them as
/// its pointers do ("/mask/allow").
///
/// Query, key and value are [L,D], [B,L,D] or [B,H,L,D], all of one rank; a batch axis of 1 is
/// repeated. With `heads` a tensor without a head axis is split: [B,L,H·D]. Query heads are a
/// multiple of key heads (grouped-query attention, Ainslie et al. 2023): query head h reads
/// key/value head h / (heads / kv_heads).
struct AttentionRequest {
  Kind kind = Kind::scaled_dot_product;
  DType dtype = DType::float32;  ///< of the results; float64 is computed in double precision,
                                 ///< float32 too unless the sizes make it slow

  Tensor query, key, value;     ///< key defaults to query, value to key
  Tensor past_key, past_value;  ///< [.., P, D]: put before the keys and values
  Tensor scores;  ///< softmax only: [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]; `value` is optional then

  Tensor W;              ///< general: [dq,dk]
  Tensor W_k, W_q, w_v;  ///< additive: [h,dk], [h,dq], [1,h]

  std::optional<std::size_t> heads, kv_heads;
  std::optional<double>
      scale;  ///< multiplies the scores; default 1/√d_k for scaled dot products, else 1
  std::optional<double> softcap;  ///< c·tanh(s/c) after the scale; c > 0
  Mask mask;
  std::optional<Dropout> dropout;

  /// Called by any thread, several at once too, with the number of scores it has just computed.
  std::function<void(std::size_t)> progress;
  std::size_t threads = 0;      ///< 0 = as many as the machine has; never changes a result
  bool weights = true;          ///< whether `weights` and `allowed` are wanted
  std::optional<Pooling> pool;  ///< wanted in their place
  bool stages = false;          ///< whether `scores`, `capped`, `masked` and `lse` are wanted too
};

/// Weights have the leading axes of the inputs: [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]; the output
/// [..,Lq,Dv], heads joined again if they were split. Order inside one score: scale → softcap →
/// bias → mask → softmax.
struct AttentionResult {
  Tensor weights;
  Tensor pooled;          ///< with `pool`: [..,Nq,Nk], in place of the weights
  Shape pooled_from;      ///< [Lq,Lk]
  Tensor pooled_allowed;  ///< bool: whether any weight of the cell is seen; absent without a mask
  Tensor dropped;  ///< the weights after dropout, which make the output; absent without dropout
  Tensor output;   ///< absent for softmax without a value
  Tensor allowed;  ///< bool, shape of the weights: which keys are seen; absent without a mask
  Tensor scores;   ///< stage: after the scale
  Tensor capped;   ///< stage: after the softcap
  Tensor masked;   ///< stage: after bias and mask
  Tensor lse;      ///< stage: log Σ exp of each row of `masked`, [..,Lq]; −inf if no key is left
  std::size_t empty_rows = 0;  ///< queries with no key left: their weights and output are zero
};

/// Computes it, for the kinds of the families given_scores and score. A key whose masked score is
/// −inf contributes exactly nothing, even if it holds NaN or infinity. Throws Error(input) naming
/// the field and the shapes if they do not fit together.
AttentionResult attend(const AttentionRequest& request);

}  // namespace attn
