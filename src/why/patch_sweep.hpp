#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "attn/why.hpp"

#include "models/pass.hpp"
#include "why/partial_pass.hpp"

namespace attn {

/// Parts that are patched, and whether those of heads are position by position. Those of layers
/// always are: at all positions at once they would say nothing that a head does not.
struct SweepChoice {
  std::vector<PatchedPart> parts{PatchedPart::heads};
  bool by_position = false;
  bool keeps_weights = false;  ///< whether layers above the part keep the text's own weights
};

/// The difference of two logits after passes of a text in which one part comes from another text.
struct SweptPart {
  PatchedPart part = PatchedPart::heads;
  bool by_position = false;
  std::vector<std::size_t> layers;  ///< those that have the part
  std::vector<std::size_t> units;   ///< heads, or key heads, of each of them; 1 of a layer itself
  /// [layers · units, L] by position, else [layers,units].
  std::vector<std::vector<double>> patched;
};

struct SweepEffects {
  double own = 0, source = 0;       ///< the difference in both texts
  std::vector<std::size_t> tokens;  ///< the two: the first minus the second
  std::vector<SweptPart> parts;
};

/// Effects of parts of a model's last stack on the difference of two logits at the last position.
/// Runs the text and that of the pass's patch, and for each layer and position the layers from
/// there on, all heads of the layer together; of causal stacks whose layers mix tokens by attention
/// of their own alone, only the rows from that position on, over the keys and values of those
/// before it. What layers read of the tokens stays that of the text. Query heads that share keys
/// and values share their patch too. `done` takes the passes that are finished and that of all.
/// Throws Error(input) for texts of different lengths and a model without a head for logits.
SweepEffects sweep(const ModelPass& pass, const SweepChoice& choice, const DifferenceTokens& tokens,
                   const std::function<void(std::size_t done, std::size_t all)>& done = {});

/// Logits at some of the positions that were asked for, in passes in which one head of a layer is
/// off.
struct LogitsWithout {
  std::size_t layer = 0;
  std::size_t first = 0;  ///< the first of these positions; the rows that follow are of the next
  Tensor whole;           ///< [1,all positions,V], of the whole model
  Tensor without;         ///< [H,R,V], of each head
};

/// Switches off the heads of a model's last stack one by one in one text, and hands over the logits
/// at some positions: the layers from a head's own on are computed, those of one layer's heads
/// together. Of the layers that the options choose. The mean is over the tokens of the text. Throws
/// Error(input) for a model without a head for logits.
void without_each_head(const ModelPass& pass, Ablation way,
                       const std::vector<std::size_t>& positions,
                       const std::function<void(const LogitsWithout&)>& take);

}  // namespace attn
