#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "attn/attention.hpp"

namespace attn {

/// The steps of one attention, in the order in which a query's row is computed.
enum class RowStep {
  given,        ///< the tensors of the request
  preparation,  ///< norms and rotation of queries and keys
  product,      ///< scores before the scale
  scale,
  own_score,  ///< the expression of the score
  softcap,
  bias,  ///< of the mask and of distances
  softmax,
  own_weight,  ///< the expression of the weight
  output,      ///< the weighted sum of the values
  gate
};

/// The row of one query.
struct RowPlace {
  std::size_t batch = 0, head = 0, query = 0;
};

/// A step that makes NaN or an infinity.
struct NotFiniteStep {
  RowStep step = RowStep::given;
  std::string_view tensor = {};  ///< of RowStep::given, as documents call it: "key", "W_q"
  std::size_t key = 0;           ///< whose row that is, where the tensor has rows of keys
};

/// The first step that makes NaN or an infinity of a query's row, which is computed again: in the
/// type of the request if that has 16 bits, else in double precision, which attend() turns to where
/// float32 does not hold a number. Keys that are hidden play no part. Absent if all numbers of the
/// row are finite, dropout left out. Throws Error as attend() does.
std::optional<NotFiniteStep> first_not_finite(const AttentionRequest& request, RowPlace place);

/// Steps of the scores of an attention, [B,H,Lq,Lk] each, and of each row the log-sum-exp,
/// [B,H,Lq], as attend() gives them with AttentionOptions::stages.
struct ScoreStages {
  Tensor scores, capped, masked, lse;
};

/// The steps alone, in the precision of the request. Products of queries and keys are computed by
/// kernels, all others as attend() does. A step that changes nothing shares the tensor of the step
/// before it. Weights of the same request, where they are known, spare the exponentials of the
/// log-sum-exp. Throws as attend() does.
ScoreStages score_stages(const AttentionRequest& request, const Tensor& weights = {});

}  // namespace attn
