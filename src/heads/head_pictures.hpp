#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/heads.hpp"
#include "attn/plot.hpp"

#include "attention/attention_name.hpp"
#include "heads/model_analyses.hpp"
#include "maps/seen_picture.hpp"

namespace attn {

/// A picture and the name of its file.
struct HeadPicture {
  std::string name;
  Picture picture;
};

/// A column of the heads' numbers as layers × heads; `weights` = numbers from 0 to 1. `bar` says
/// more about them than the title.
Picture layers_by_heads(const std::vector<AttentionHeads>& attentions, std::size_t column,
                        const std::string& title, bool weights, const HeadsOptions& options,
                        const std::string& bar = "");

/// Name of the file of a statistic's picture, without its extension.
std::string statistic_picture(const HeadStatisticInfo& info);
/// Likewise of the effects of a part that is patched; `of_heads`: of heads at all positions.
std::string patch_picture(const PatchedPartInfo& info, bool of_heads);

/// Layers × heads for each chosen statistic, and pictures of what was computed in addition:
/// the rollout of the last layer, norms of the chosen sample and head layer by layer, what the lens
/// says, and the map of heads. `labels` are the tokens of each sample, `on_map` the attention of
/// each head on that map. `seen` are the pictures that a model saw, over which rollout and norms
/// are drawn too.
std::vector<HeadPicture> head_pictures(const HeadsOptions& options, const HeadsOutcome& outcome,
                                       const NamedTensors& tensors,
                                       const std::vector<std::vector<std::string>>& labels,
                                       const std::vector<AttentionName>& on_map,
                                       const std::optional<SeenPicture>& seen = {});

}  // namespace attn
