#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/pass.hpp"

namespace attn {

/// Whether other numbers than zeros take the place of what a model computes.
inline bool is_changed(const ModelOptions& options) {
  return options.patch || (!options.heads_off.empty() && options.ablation == Ablation::mean);
}

/// The options of a pass that has the means of heads that are off, and what a patch takes from the
/// other text, in watches. Runs the model for either. Throws Error(input) as run_model() does, and
/// for a patch that does not fit the texts.
ModelOptions with_changes(const Architecture& model, const CheckpointWeights& weights,
                          const ModelTexts& texts, const ModelOptions& options);

/// The options of a pass that gives nothing but what watches are added for.
ModelOptions only_watches(const ModelOptions& options);

/// Copies columns `first` … `first + count` − 1 of some rows of `from` [..,L,W] into those of `to`;
/// no positions = all. One row of `from` is for all of `to`.
void put_columns(const Tensor& from, std::size_t first, std::size_t count,
                 const std::vector<std::size_t>& positions, Tensor& to);

/// The head, feed-forward or states of a layer that a text names, and the positions that may
/// follow. Throws Error(input) at `field`.
ModelPlace patch_place(const std::string& text, const Architecture& model,
                       const std::string& field);

}  // namespace attn
