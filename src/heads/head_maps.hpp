#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "attn/heads.hpp"
#include "attn/model.hpp"
#include "attn/statistics.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "statistics/head_values.hpp"

namespace attn {

/// Map of an attention as statistics read it, with the tokens along its axes.
struct HeadMaps {
  /// Numbers [B,H,Lq,Lk], and `allowed` and the stages likewise; an axis of 1 of `allowed` stands
  /// for all of its positions.
  AttentionMap map;
  bool same_positions = false;           ///< whether queries and keys are the same tokens
  std::vector<MapTokens> queries, keys;  ///< one per sample; empty = not known
};

/// Tokens of a model's text: special tokens and separators by their ids.
MapTokens model_tokens(const ModelFolder& folder, const std::vector<std::int64_t>& ids,
                       const HeadCounting& counting);

/// Map with its tokens: by the ids of `model`, which computed it, or else by its labels. Labels of
/// another length than the map's are left out.
HeadMaps head_maps(AttentionMap map, const HeadCounting& counting,
                   const ModelRequest* model = nullptr);

/// Statistics of each head [H]: means over the samples in which they have a meaning.
std::vector<HeadValues> values_of(const HeadMaps& maps, const HeadCounting& counting,
                                  std::size_t threads);

/// Means over samples of values [B,H]. A value that is NaN does not count.
std::vector<HeadValues> means_of_samples(const std::vector<HeadValues>& values,
                                         std::size_t samples);

/// Plan whose maps are to be read. With `rows`, which becomes whether the maps are so large that
/// their rows are read in place of them. Throws Error(usage) for several kinds of attention and for
/// pooled weights.
Plan plan_of_maps(const HeadsOptions& options, const Document& document, bool* rows = nullptr);

/// Computes a plan and hands over the map of each attention as soon as it is there. Returns a
/// model's predictions, one list per sample.
std::vector<std::vector<Prediction>> compute_maps(const Plan& plan, const HeadCounting& counting,
                                                  const std::function<void(const HeadMaps&)>& take);

}  // namespace attn
