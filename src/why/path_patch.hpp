#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "models/model_place.hpp"
#include "models/pass.hpp"
#include "why/partial_pass.hpp"

namespace attn {

/// Ends of paths from each head of a model's last stack.
struct PathChoice {
  bool logits = true;
  /// Heads whose queries, keys and values are ends; empty = all, absent = none.
  std::optional<std::vector<ModelPlace>> heads = std::vector<ModelPlace>{};
  /// Whether all layers keep the text's own weights, so that paths end in values alone.
  bool keeps_weights = false;
};

/// The difference of two logits after a pass of a text in which one path carries what it carries in
/// another text.
struct PatchedPath {
  ModelPlace from;
  std::optional<ModelPlace> to;              ///< absent = the logits
  PatchedPart input = PatchedPart::queries;  ///< of `to`: queries, keys or values
  double difference = 0;
};

struct PathEffects {
  double own = 0, source = 0;       ///< the difference in both texts
  std::vector<std::size_t> tokens;  ///< the two: the first minus the second
  std::vector<PatchedPath> paths;
};

/// Effects of direct paths on the difference of two logits at the last position (Wang et al. 2023,
/// "Interpretability in the Wild", section 3.1): a head writes what it writes in the text of the
/// pass's patch, all other heads and all feed-forwards write what they write in the text itself,
/// and what the later head's queries, keys or values become so goes into a pass of the text, whose
/// rest is computed again. Key heads that several heads share are one end. `done` takes the passes
/// that are finished and that of all. Throws Error(input) as sweep() does, and for a model whose
/// layers read tokens by more than attention of their own.
PathEffects patch_paths(const ModelPass& pass, const PathChoice& choice,
                        const DifferenceTokens& tokens,
                        const std::function<void(std::size_t done, std::size_t all)>& done = {});

}  // namespace attn
