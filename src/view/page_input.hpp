#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/view.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "maps/filed_maps.hpp"
#include "result/result_reader.hpp"

namespace attn {

/// Facts of an input that are known before any of its maps is there.
struct ViewedInput {
  std::string title, description;
  std::string shown;                 ///< what goes by a name although its file has none: the kind
  std::vector<std::string> samples;  ///< their titles; empty = numbered
  std::vector<std::string> warnings;

  /// Maps of one size.
  struct Sizes {
    std::size_t maps = 0;  ///< number of maps: samples × heads × tensors
    std::size_t queries = 0, keys = 0;
  };
  std::vector<Sizes> sizes;
};

/// Plan of a document whose maps are to be seen. Throws Error(usage) for several kinds of
/// attention.
Plan plan_of_view(const ViewOptions& options, const Document& document);

/// Facts of a plan before it is computed. Throws Error(input) naming the field if heads or layers
/// are chosen that are not there.
ViewedInput planned_input(const Plan& plan, const ViewOptions& options);

/// Computed map of the plan with what the page shows of it: the chosen heads alone. Absent if its
/// layer is not chosen.
std::optional<AttentionMap> planned_map(const Plan& plan, AttentionMap map,
                                        const ViewOptions& options);

/// Facts of stacks in files before their maps are shown. Reads all maps once. Throws as draw()
/// does.
ViewedInput filed_input(std::vector<FiledMaps>& stacks, const ResultReader& first,
                        const ViewOptions& options);

/// Map of a file with what the page shows of it, in float32 if the file `holds_floats`.
AttentionMap filed_map(AttentionMap map, bool holds_floats, const ViewOptions& options);

/// Name of the rows of the overview that the map is one of: "Self-Attention".
std::string stack_of(const AttentionMap& map);

/// Sentences for each sample of a map [B,H,Lq,Lk] that say why keys are hidden from queries: one
/// for each part of the mask that hides any, "causal: keys after the query", or, where only the
/// hidden cells are known, what these look like in the first head.
std::vector<std::vector<std::string>> hidden_reasons(const AttentionMap& map);

}  // namespace attn
