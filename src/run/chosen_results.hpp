#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/pictures.hpp"
#include "attn/run.hpp"

#include "document/plan.hpp"

namespace attn {

/// Sets in a plan which results a run writes, draws and reports, and returns the kinds of pictures
/// that it draws. Adds a warning for each picture that is left out. Throws Error(usage) for options
/// that have no meaning for the plan.
std::vector<PlotKind> choose_results(const RunOptions& options, Plan& plan);

/// Whether a run writes weights, or numbers that are made of them.
bool wants_weights(const RunOptions& options, const Plan& plan);

/// Whether a run writes the tensor of that name.
bool is_written(std::string_view name, const RunOptions& options, const Plan& plan);

/// Whether a tensor holds a step of the score.
bool is_stage(std::string_view name);

/// Whether `parts` is the whole name, or the last parts of it.
bool ends_in(std::string_view name, const std::string& parts);

/// Names of the tensors that the attentions of a plan may have, but for a model's.
std::vector<std::string> names_in(const Plan& plan, bool stages);

/// Whether any of these kinds of pictures shows weights.
bool show_weights(const std::vector<PlotKind>& plots);

/// About the bytes of the tensors that a run writes for a plan; 0 if only some of them are wanted.
double foreseen_bytes(const Plan& plan, const RunOptions& options);

}  // namespace attn
