#pragma once

#include <cstddef>
#include <optional>

#include "models/pass.hpp"
#include "why/splits.hpp"

namespace attn {

/// Throws Error(input) if the model's logits are not a sum over parts.
void check_split_logits(const Architecture& model, const CheckpointWeights& weights);

/// Splits the logit of a token at a position of the last stack's text, of one sample; absent = the
/// likeliest token. Position and token must be there. Throws as
/// check_split_logits() does, and Error(internal) if the parts do not add up to the logit that the
/// model's own head computes.
LogitSplit split_logit(const Architecture& model, const CheckpointWeights& weights,
                       const ModelTexts& text, const ModelOptions& options, std::size_t position,
                       std::optional<std::size_t> token);

}  // namespace attn
