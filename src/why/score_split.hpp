#pragma once

#include <cstddef>
#include <optional>

#include "models/pass.hpp"
#include "why/splits.hpp"

namespace attn {

/// The head whose scores are split: of a model of one stack, or of the encoder, of the decoder over
/// itself, or of the decoder over the encoder's output.
struct SplitHead {
  bool decoder = false, crosses = false;
  std::size_t layer = 0, head = 0;
};

/// Splits the scores of a head in a text of one sample, of one query or key or of all that see each
/// other; all of them must be there. Throws Error(input) if there is no room for the parts,
/// Error(internal) if they do not add up to the scores that the model's own attention computes.
ScoreSplit split_scores(const Architecture& model, const CheckpointWeights& weights,
                        const ModelTexts& text, const ModelOptions& options, const SplitHead& head,
                        std::optional<std::size_t> query, std::optional<std::size_t> key);

}  // namespace attn
