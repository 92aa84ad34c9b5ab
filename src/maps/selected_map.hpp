#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "document/labels.hpp"
#include "maps/chosen_positions.hpp"
#include "maps/map_selection.hpp"

namespace attn {

/// Weights and what is known of them, and the part of them that a picture shows.
struct SelectedMaps {
  const Maps& weights;
  const Maps* allowed;  ///< null = unknown
  const Labels& labels;
  std::string title;  ///< of the document; may be empty
  std::size_t sample, head;
  const MapSelection& selection;
  std::string where = {};  ///< among several attentions: "Layer 2, Self-Attention"
};

/// One matrix of them: that of the head, or the mean or the largest of all heads. Throws
/// Error(input) that names the field for positions that are not there.
Heatmap selected_heatmap(const SelectedMaps& maps);
/// The same for another sample and head than the chosen ones.
Heatmap selected_heatmap(const SelectedMaps& maps, std::size_t sample, std::size_t head);

/// The heads of the chosen sample side by side.
HeatmapGrid selected_heads(const SelectedMaps& maps);
/// Samples × heads.
HeatmapGrid selected_grid(const SelectedMaps& maps);
/// The chosen head, or with Heads::all every head.
HeadLines selected_lines(const SelectedMaps& maps);

/// "(Layer 2, Self-Attention, Sample 1, Head 1)", or what is shown of the heads instead, and what
/// was done to the keys.
std::string place_text(const SelectedMaps& maps);

/// What was done to the keys: "without the First Key, Renormalised"; empty if nothing was.
std::string keys_text(const MapSelection& selection);

/// Which attention a tensor of a result belongs to, of several: "Layer 2, Self-Attention" for
/// layers.1.self.weights; empty if the name does not tell.
std::string where_of(std::string_view tensor);

/// The attentions that follow one another in the layers of a stack have one sort: the tensor's name
/// without the layer's number, "encoder.layers.self.weights".
std::string sort_of(std::string_view tensor);

/// Whether all heads are one matrix.
bool heads_together(const MapSelection& selection);

/// The heads that are drawn, or taken together, from 0.
std::vector<std::size_t> drawn_heads(const SelectedMaps& maps);
/// "12 Heads", "Heads 1 to 6".
std::string heads_text(const SelectedMaps& maps);

/// The positions that are chosen among `count`, from 0. Throws Error(input) naming the field.
Positions selected_queries(const MapSelection& selection, std::size_t count);
/// `labels` are those of all keys, or none.
std::vector<std::size_t> selected_keys(const MapSelection& selection, std::size_t count,
                                       const std::vector<std::string>& labels);

/// The labels of those positions; none stay none.
std::vector<std::string> part_of(const std::vector<std::string>& labels,
                                 const Positions& positions);
/// The same of keys, which are named by their numbers, K_1…, if there are none and some between
/// them are left out.
std::vector<std::string> key_labels(const std::vector<std::string>& labels,
                                    const std::vector<std::size_t>& keys);

}  // namespace attn
