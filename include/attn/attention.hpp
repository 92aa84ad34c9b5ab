#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "attn/rotary.hpp"
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

/// x / √(mean x² + ε) · weight (Zhang and Sennrich 2019, section 4), or the layer norm: first the
/// mean is taken away (Ba et al. 2016).
enum class NormKind { layer, rms };

/// The norm of each head's query or key before it is turned and compared (Dehghani et al. 2023,
/// section 2.1), ε being that of the options.
struct HeadNorm {
  Tensor weight, bias = {};  ///< [d], the width of a head; the bias is added after the weight
  NormKind kind = NormKind::rms;
};

/// A bias for each bucket of distances key − query (Raffel et al. 2020, section 2.1): each of the
/// nearest distances has a bucket of its own, then they widen logarithmically.
struct RelativeBias {
  Tensor table;  ///< [buckets,H]
  std::size_t buckets = 32, max_distance = 128;
  bool bidirectional = true;  ///< half of the buckets for later keys; else these share the first
};

/// What holds for any attention, whatever its scores are. Field names are those of an input
/// document, and errors name them as its pointers do ("/mask/allow").
struct AttentionOptions {
  DType dtype = DType::float32;  ///< of the results; float64 is computed in double precision,
                                 ///< float32 too unless the sizes make it slow
  std::optional<double> scale =
      {};  ///< multiplies the scores; default 1/√d_k for scaled dot products, else 1
  std::optional<double> softcap = {};  ///< c·tanh(s/c) after the scale; c > 0
  Mask mask = {};
  std::optional<Dropout> dropout = {};

  // Of scores that are products of queries and keys. Query i stands at p = i + the mask's offset.
  std::optional<Rotary> rotary = {};  ///< queries and new keys are turned; past keys have been
  std::optional<HeadNorm> query_norm = {},
                          key_norm = {};  ///< of queries and new keys, before they are turned
  double eps = 1e-5;                      ///< of every norm
  std::optional<RelativeBias> relative_bias = {};  ///< added where the mask's bias is
  Tensor sinks = {};  ///< [H], finite: one more logit a head in the sum of the softmax, with no
                      ///< value (Xiao et al. 2023), neither scaled nor capped

  /// Called by any thread, several at once too, with the number of scores it has just computed.
  std::function<void(std::size_t)> progress = {};
  std::size_t threads = 0;           ///< 0 = as many as the machine has; never changes a result
  bool weights = true;               ///< whether `weights` and `allowed` are wanted
  std::optional<Pooling> pool = {};  ///< wanted in their place
  bool stages = false;  ///< whether `scores`, `capped`, `masked` and `lse` are wanted too
};

/// One attention to compute.
struct AttentionRequest : AttentionOptions {
  Score score = ScaledDotProduct{};
};

/// Weights have the leading axes of the inputs: [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]; the output
/// [..,Lq,Dv], heads joined again if they were split. Order inside one attention: norms of query
/// and key → rotary → past keys in front → scale → softcap → bias, ALiBi and relative bias → mask →
/// softmax.
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
  Tensor lse;  ///< stage: log Σ exp of each row of `masked` and of its sink, [..,Lq]; −inf if
               ///< there is neither
  std::size_t empty_rows = 0;  ///< queries with no key left: their weights and output are zero
};

/// Computes it. A key whose masked score is −inf contributes exactly nothing, even if it holds NaN
/// or infinity. Throws Error(input) naming the field and the shapes if they do not fit together.
AttentionResult attend(const AttentionRequest& request);
/// The attention of one score under these options:
/// attend(DotProduct{{.query = q, .key = k, .value = v}}, {.mask = {.causal = true}}).
AttentionResult attend(const Score& score, const AttentionOptions& options);
/// Scaled dot products: attend({.query = q, .key = k, .value = v}, {.mask = {.causal = true}}).
AttentionResult attend(const Sequences& sequences, const AttentionOptions& options = {});

}  // namespace attn
