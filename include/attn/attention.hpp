#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "attn/rotary.hpp"
#include "attn/spec.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Dropout on the weights, as in training: each weight is kept with probability 1 − p and then
/// divided by it, else set to 0 (Srivastava et al. 2014).
struct Dropout {
  double p = 0;  ///< 0…1
  /// Draws the weights to keep: a bool tensor of the given shape, that of the weights.
  std::function<Tensor(const Shape&)> draw;
};

/// layer: (x − mean) / √(variance + ε) · weight + bias with the biased variance (Ba et al. 2016);
/// rms: x / √(mean x² + ε) · weight + bias (Zhang and Sennrich 2019, section 4).
enum class NormKind { layer, rms };

/// A norm of rows of width d: of hidden states, or of each head's queries or keys before they are
/// rotated and compared (Dehghani et al. 2023, section 2.1). ε is that of the options.
struct Norm {
  Tensor weight = {}, bias = {};  ///< [d]; absent ones count as ones and zeros
  NormKind kind = NormKind::layer;
};

/// A learned bias per bucket of distances key − query (Raffel et al. 2020, section 2.1): each of
/// the nearest distances has its own bucket, then buckets widen logarithmically up to max_distance.
struct RelativeBias {
  Tensor table;  ///< [buckets,H], finite
  std::size_t buckets = 32, max_distance = 128;
  bool bidirectional = true;  ///< half of the buckets for later keys; else those share the first
};

/// Options of any attention, whatever its scores. Fields are named as in input documents, and
/// errors name them by the document's pointers ("/mask/allow").
struct AttentionOptions {
  /// Type of the results: float32, float64, bfloat16 or float16. float64 is computed in double
  /// precision, and so is float32 unless the sizes make that slow.
  DType dtype = DType::float32;
  /// Rounding of a dtype of 16 bits. False: of inputs, scores, weights and output, as under
  /// PyTorch's autocast. True: of inputs, output and the exponentials that multiply the values, as
  /// in fused kernels (Dao 2023, algorithm 1), while scores, sums and the results' weights are
  /// float32.
  bool fused_rounding = false;
  std::optional<double> scale =
      {};  ///< multiplies the scores; default 1/√d_k for scaled dot products, else 1
  Expression score_expression = {};    ///< a number in place of the scaled score, its name `s`
  Expression weight_expression = {};   ///< a number in place of the weight, its name `p`
  std::optional<double> softcap = {};  ///< c·tanh(s/c) after the scale; c > 0
  bool softcap_after_bias = false;     ///< the softcap follows the biases; −inf stays −inf
  Tensor gate = {};  ///< shape of the output; its sigmoid multiplies the joined heads
  Mask mask = {};
  std::optional<Dropout> dropout = {};

  // For scores that are products of queries and keys. Query i stands at position i + the mask's
  // offset.
  std::optional<Rotary> rotary =
      {};  ///< rotates queries and new keys; past keys are rotated already
  /// Norms of each head's queries and new keys; their weights are [d], or [H,d] and [G,d] with a
  /// row for each head.
  std::optional<Norm> query_norm = {}, key_norm = {};
  bool norms_after_rotary = false;                 ///< whether these norms follow the rotation
  double eps = 1e-5;                               ///< ε of every norm
  std::optional<RelativeBias> relative_bias = {};  ///< added with the mask's bias
  Tensor sinks = {};  ///< [H], finite: one more logit per head in the sum of the softmax, with no
                      ///< value (Xiao et al. 2023), neither scaled nor capped

  std::size_t threads = 0;           ///< 0 = as many as the machine has; no result depends on it
  bool weights = true;               ///< whether to return `weights` and `allowed`
  std::optional<Pooling> pool = {};  ///< returns `pooled` in place of the weights
  bool stages = false;  ///< whether to return `scores`, `capped`, `masked` and `lse` too
};

/// One attention to compute: a score with its options.
struct AttentionRequest : AttentionOptions {
  Score score = ScaledDotProduct{};
};

/// Results of one attention. Weights have the leading axes of the inputs: [Lq,Lk], [B,Lq,Lk] or
/// [B,H,Lq,Lk]; the output is [..,Lq,Dv], with heads joined again if they were split. Order of
/// steps: norms of query and key → rotary → past keys in front → scale → softcap → bias, ALiBi and
/// relative bias → mask → softmax.
struct AttentionResult {
  Tensor weights;
  Tensor pooled;          ///< with `pool`: [..,Nq,Nk], in place of the weights
  Shape pooled_from;      ///< [Lq,Lk]
  Tensor pooled_allowed;  ///< bool [..,Nq,Nk]: whether any weight of the cell is seen; absent
                          ///< without a mask
  Tensor dropped;  ///< the weights after dropout, which the output uses; absent without dropout
  Tensor output;   ///< absent for softmax without a value
  Tensor allowed;  ///< bool, shape of the weights: whether the key is seen; absent without a mask
  Tensor scores;   ///< stage: after the scale
  Tensor capped;   ///< stage: after the softcap
  Tensor masked;   ///< stage: after bias and mask
  Tensor lse;  ///< stage: log Σ exp of each row of `masked` and of its sink, [..,Lq]; −inf if
               ///< there is neither
  /// Queries and keys after norms and rotation, where the mask's `where` compares these; else
  /// absent.
  Sequences compared;
  std::size_t empty_rows = 0;  ///< queries that see no key: their weights and output are zeros
};

/// Takes the number of scores just computed, from any thread and from several at once.
using Progress = std::function<void(std::size_t scores)>;

/// Computes one attention. A key whose masked score is −inf contributes exactly nothing, even if it
/// holds NaN or infinity. Throws Error(input) naming the field, and the shapes if they do not fit.
AttentionResult attend(const AttentionRequest& request, const Progress& progress = {});
/// The attention of one score under these options:
/// attend(DotProduct{{.query = q, .key = k, .value = v}}, {.mask = {.causal = true}}).
AttentionResult attend(const Score& score, const AttentionOptions& options);
/// Scaled dot products: attend({.query = q, .key = k, .value = v}, {.mask = {.causal = true}}).
AttentionResult attend(const Sequences& sequences, const AttentionOptions& options = {});

}  // namespace attn
