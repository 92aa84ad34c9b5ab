#pragma once

#include "attn/why.hpp"

#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "why/splits.hpp"

namespace attn {

/// Checks that a choice fits a model and its texts. Throws Error(input) at the field that names a
/// head, position or token which is not there, or what cannot be split.
void check_why(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text);

/// Splits what was asked for in a text of one sample, computed in double precision. Throws as
/// check_why(), split_scores() and split_logit() do.
WhySplits split(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text,
                const ModelOptions& options);

}  // namespace attn
