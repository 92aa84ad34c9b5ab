#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/pass.hpp"
#include "why/frozen_pass.hpp"
#include "why/splits.hpp"

namespace attn {

/// The scores of a head that are split: those of one query or key of a text, or of all that see
/// each other; all of them must be there.
struct ChosenScores {
  ModelPlace head;
  std::vector<std::size_t> queries, keys;

  ChosenScores(ModelPlace head, const ModelTexts& text, std::optional<std::size_t> query,
               std::optional<std::size_t> key);

  /// Choice of what a pass keeps for them.
  FrozenChoice kept() const;
};

/// Splits the scores in the pass that kept what they need. Throws Error(input) if there is no room
/// for the parts, Error(internal) if they do not add up to the scores that the model's own
/// attention computes.
ScoreSplit split_scores(const FrozenPass& pass, const ChosenScores& chosen, std::size_t threads);

}  // namespace attn
