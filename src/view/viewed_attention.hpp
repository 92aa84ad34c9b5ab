#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/view.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "heads/head_maps.hpp"
#include "maps/filed_maps.hpp"
#include "result/result_reader.hpp"

namespace attn {

/// An attention as the page shows it: the heads that are chosen of its map.
struct ViewedAttention {
  HeadMaps maps;
  std::string title;               ///< "Layer 1, Self-Attention"
  std::string stack;               ///< "Self-Attention": attentions of one are rows of the overview
  std::vector<std::size_t> heads;  ///< numbers of the heads; empty = all of them are here
  /// Sentences for each sample that say why keys are hidden.
  std::vector<std::vector<std::string>> hidden_because;
};

/// Facts of an input that are known before any of its maps is there.
struct ViewedInput {
  std::string title, description;
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
/// attention, and as check_viewable() does.
Plan plan_of_view(const ViewOptions& options, const Document& document);

/// Throws Error(usage) if the plan's weights are pooled while they are computed.
void check_viewable(const Plan& plan);

/// Facts of a plan before it is computed. Throws Error(input) naming the field if heads or layers
/// are chosen that are not there.
ViewedInput planned_input(const Plan& plan, const ViewOptions& options);

/// Attention of a computed map of the plan; absent if its layer is not chosen.
std::optional<ViewedAttention> planned_attention(const Plan& plan, AttentionMap map,
                                                 const ViewOptions& options);

/// Maps of a result or of files of tensors: all stacks of layers that are in them.
class FiledAttentions {
 public:
  /// `first` is the input, which is open already. Keeps a reference to the options. Throws
  /// Error(file) or Error(input) as draw() does.
  FiledAttentions(const ViewOptions& options, std::shared_ptr<ResultReader> first);

  /// Facts before the maps are handed over. Reads all of them once.
  ViewedInput input();
  void each(const std::function<void(const ViewedAttention&)>& take);

 private:
  ViewedAttention viewed(AttentionMap map) const;

  const ViewOptions& options_;
  std::shared_ptr<ResultReader> first_;
  std::vector<FiledMaps> stacks_;
};

/// Sentences for each sample that say why keys are hidden from queries, one for each part of the
/// mask that hides any: "causal: keys after the query".
std::vector<std::vector<std::string>> hidden_reasons(const PlannedAttention& attention);

/// Sentences where only the cells that are hidden are known: `allowed` [B,H,Lq,Lk], of which the
/// first head is looked at, with axes of 1 that are repeated; absent = nothing is hidden.
std::vector<std::vector<std::string>> apparent_reasons(const Tensor& allowed, std::size_t samples,
                                                       bool same_positions);

}  // namespace attn
