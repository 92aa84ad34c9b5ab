#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "models/pass.hpp"

namespace attn {

/// Whether other numbers than zeros take the place of what a model computes.
inline bool is_changed(const ModelOptions& options) {
  return options.patch || (!options.heads_off.empty() && options.ablation == Ablation::mean);
}

/// A change of what is written at a place, without head and positions, before it goes on.
struct PassChange {
  ModelPlace place;
  std::function<void(std::size_t sample, Tensor& numbers)> make;
};

/// The changes that options ask for: the means of heads that are off, and what a patch takes from
/// the other text. Runs the model for either. Throws Error(input) as run_model() does, and for a
/// patch that does not fit the texts.
std::vector<PassChange> changes_of(const ModelPass& pass);

/// run_model() without its checks and with given changes, in place of those of the options. Returns
/// the states [1,L,D] of each sample that leave the last layer of the pass, or the last stack.
std::vector<Tensor> run_changed(const ModelPass& pass, const std::vector<PassChange>& changes,
                                const std::vector<PassObserver>& observers);

/// Copies columns `first` … `first + count` − 1 of some rows of `from` [..,L,W] into those of `to`;
/// no positions = all. One row of `from` is for all of `to`.
void put_columns(const Tensor& from, std::size_t first, std::size_t count,
                 const std::vector<std::size_t>& positions, Tensor& to);

/// The head, feed-forward or states of a layer that a text names, and the positions that may
/// follow. Throws Error(input) at `field`.
ModelPlace patch_place(const std::string& text, const Architecture& model,
                       const std::string& field);

}  // namespace attn
