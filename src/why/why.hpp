#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
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

/// The position whose logit is split: that of the choice, or else the first mask token of a model
/// that predicts its masked tokens. Absent = the last one.
std::optional<std::size_t> position_of_logit(const WhyOptions& why, const ModelFolder& folder,
                                             const ModelTexts& text);

/// Warning that the logit of a model that predicts masked tokens is split at the last token, as the
/// text has no mask and no position is chosen.
std::optional<std::string> missing_mask(const WhyOptions& why, const ModelFolder& folder,
                                        const ModelTexts& text);

/// Checks that a choice fits a model and its texts. Throws Error(input) at the field that names a
/// head, position or token which is not there, or what cannot be split.
void check_why(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text);

/// Splits what was asked for in a text of one sample, computed in double precision. Throws as
/// check_why(), split_scores() and split_logit() do.
WhySplits split(const WhyOptions& why, const ModelFolder& folder, const ModelTexts& text,
                const ModelOptions& options, const Progress& progress = {});

}  // namespace attn
