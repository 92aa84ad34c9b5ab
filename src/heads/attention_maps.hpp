#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/heads.hpp"
#include "attn/model.hpp"
#include "attn/tensor.hpp"

#include "attention/attention_name.hpp"
#include "document/document.hpp"
#include "document/plan.hpp"
#include "maps/computed_maps.hpp"
#include "result/result_reader.hpp"
#include "statistics/head_values.hpp"

namespace attn {

/// The maps of one attention and what their rows and columns are.
struct AttentionMaps {
  AttentionName name;
  Tensor weights;  ///< [B,H,Lq,Lk]
  Tensor allowed;  ///< of as many axes, some of size 1; absent = not known or nothing hidden
  bool allowed_known = false;                    ///< whether absent means that nothing is hidden
  bool same_positions = false;                   ///< queries and keys are the same tokens
  std::vector<MapTokens> queries, keys;          ///< one a sample; empty = not known
  std::vector<std::vector<std::string>> labels;  ///< of the queries, one list a sample
};

/// Where separators and special tokens are, and equal tokens: by their ids in a model.
MapTokens model_tokens(const ModelFolder& folder, const std::vector<std::int64_t>& ids,
                       const HeadCounting& counting);
/// By their labels in all else.
MapTokens labelled_tokens(const std::vector<std::string>& labels, const HeadCounting& counting);

/// The keys that each row of a sample and head may see; empty = not known.
std::vector<std::size_t> seen_keys(const AttentionMaps& maps, std::size_t sample, std::size_t head);

/// The statistics of each head [H], of samples the mean of those where they have a meaning.
std::vector<HeadValues> values_of(const AttentionMaps& maps, const HeadCounting& counting,
                                  std::size_t threads);

/// The means over samples, of the heads of the first, then of the second…
std::vector<HeadValues> means_of_samples(const std::vector<HeadValues>& values,
                                         std::size_t samples);

/// A plan whose maps are to be read, or, if there is `rows` to tell so and the maps are large,
/// their rows. Throws Error(usage) for what has none to read: several kinds, pooled weights.
Plan plan_of_maps(const HeadsOptions& options, const Document& document, bool* rows = nullptr);

/// The maps of one attention of a plan, as they were computed.
AttentionMaps planned_maps(const Plan& plan, const AttentionMap& map, std::size_t at,
                           const HeadCounting& counting);

/// Computes it and hands on each attention's maps as soon as they are there; a model's are not kept
/// longer. Gives what is predicted, one list a sample.
std::vector<std::vector<Prediction>> walk_maps(
    const Plan& plan, const HeadCounting& counting,
    const std::function<void(const AttentionMaps&)>& take);

/// The maps of a result or file of tensors, one after the other.
void walk_file(ResultReader& file, const HeadCounting& counting, std::vector<std::string>& warnings,
               const std::function<void(const AttentionMaps&)>& take);

}  // namespace attn
