#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "models/pass.hpp"

namespace attn {

/// Effect of every head of a model's last stack on the difference of two logits at the last
/// position: a pass of a text whose output of one head comes from another text.
struct HeadEffects {
  double own = 0, source = 0;                ///< the difference in both texts
  std::vector<std::size_t> tokens;           ///< the two: the first minus the second
  std::vector<std::size_t> layers;           ///< those that have heads
  std::vector<std::vector<double>> patched;  ///< the difference [layers,heads] of each pass
};

/// Runs both texts and, for each layer, the layers from there on, all heads of the layer together.
/// Tokens that are not given are the likeliest ones after the text and after the other one, or the
/// second after the text. Heads are query heads, whose keys and values stay. Throws Error(input)
/// for texts of different lengths and a model without a head for logits.
HeadEffects patch_every_head(const ModelPass& pass, const std::vector<std::size_t>& tokens);

}  // namespace attn
