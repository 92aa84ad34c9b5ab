#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "attn/why.hpp"

#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "why/splits.hpp"

namespace attn {

/// Throws Error(usage) at `field`, which asks for a split where there is no model.
[[noreturn]] void refuse_split_without_model(const char* field);

/// The token of an id or of a text. Throws Error(input) at `field` for one that there is not, and
/// for a text of several.
std::size_t token_named(const std::string& text, const ModelFolder& folder, const char* field);

/// The head that WhyOptions::head names. Throws Error(input) for one that there is not.
ModelPlace split_head(const std::string& name, const Architecture& model);

/// Checks that a choice fits a model and its texts. Throws Error(input) at the field that names a
/// head, position or token which is not there, or what cannot be split.
void check_why(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text);

/// Splits what was asked for in a text of one sample, computed in double precision. Throws as
/// check_why(), split_scores() and split_logit() do.
WhySplits split(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text,
                const ModelOptions& options, const Progress& progress = {});

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

/// Takes the logits of a pass in which head `head` of layer `layer` is off, beside those of the
/// whole model.
using TakeLogitsWithout =
    std::function<void(std::size_t layer, std::size_t head, const std::vector<double>& whole,
                       const std::vector<double>& without)>;

/// Switches off the heads of a model's last stack one by one in one text, and hands over the logits
/// at a position: the layers from a head's own on are computed, those of one layer's heads
/// together. Of the layers that the options choose. The mean is over the tokens of the text. Throws
/// Error(input) for a model without a head for logits.
void without_each_head(const ModelPass& pass, Ablation way, std::size_t position,
                       const TakeLogitsWithout& take);

}  // namespace attn
