#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/pass.hpp"

namespace attn {

/// Whether other numbers than zeros take the place of what a model computes.
inline bool is_changed(const ModelOptions& options) {
  const bool off = !options.heads_off.empty() || !options.decoder_heads_off.empty() ||
                   !options.cross_heads_off.empty();
  return options.patch || (off && options.ablation == Ablation::mean);
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

/// What the name of a part of a model begins with: "2.1", "2.residual", of an encoder-decoder
/// "encoder.2.1", "decoder.2.1" or "cross.2.1".
struct NamedPart {
  std::size_t stack = 0, layer = 0;
  bool crosses = false;
  std::string_view part;  ///< what follows the layer, of the text that was read
};
/// Reads that beginning; absent if the text has none. The layer need not be there.
std::optional<NamedPart> named_part(std::string_view text, const Architecture& model);

/// Throws Error(input) at `field` for a head of the named layer that there is not.
void check_head(const Architecture& model, const NamedPart& part, std::size_t head,
                const std::string& field);

/// The place that a text names: "2.1", "2.feed_forward" or "2.residual", of an encoder-decoder
/// "encoder.2.1", "cross.2.1"…, and the positions that may follow it: "2.1:3,4". Throws
/// Error(input) at `field`.
PatchPlace patch_place(const std::string& text, const Architecture& model,
                       const std::string& field);

}  // namespace attn
