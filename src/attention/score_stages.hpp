#pragma once

#include "attn/attention.hpp"

namespace attn {

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
