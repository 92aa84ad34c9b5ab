#pragma once

#include <cstddef>
#include <optional>

#include "models/pass.hpp"
#include "why/frozen_pass.hpp"
#include "why/splits.hpp"

namespace attn {

/// Throws Error(input) if the model's logits are not a sum over parts.
void check_split_logits(const Architecture& model, const CheckpointWeights& weights);

/// Choice of what a pass keeps for the logits at a position of the last stack's text.
FrozenChoice kept_for_logit(const Architecture& model, std::size_t position);

/// Splits the logit of a token at the position of such a pass; absent = the likeliest token. The
/// token must be there. Throws as check_split_logits() does, and Error(internal) if the parts do
/// not add up to the logit that the model's own head computes.
LogitSplit split_logit(const Architecture& model, const CheckpointWeights& weights,
                       const FrozenPass& pass, std::optional<std::size_t> token,
                       std::size_t threads);

}  // namespace attn
