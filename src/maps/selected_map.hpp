#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/maps.hpp"
#include "attn/plot.hpp"

#include "maps/attention_map.hpp"
#include "maps/map_selection.hpp"
#include "plot/text/token_labels.hpp"

namespace attn {

/// Sample and head of a map that are shown, and the part of it.
struct MapChoice {
  std::size_t sample = 0, head = 0;
  MapSelection selection;
};

/// A map and what is chosen of it. Refers to both.
struct SelectedMap {
  /// Throws Error(input) if the map has no numbers, if labels or `allowed` do not fit them, or,
  /// naming the field, if there is no such sample or head.
  SelectedMap(const AttentionMap& map, const MapChoice& choice);

  const AttentionMap& map;
  const MapChoice& choice;
  Maps numbers;
  std::optional<Maps> allowed;
  std::optional<Maps> hidden_in_effect;
  std::string where;  ///< place among several attentions: "Layer 2, Self-Attention"
  /// Number of the first sample, head, query and key in titles and names: 1 in the tutorials' own
  /// pictures, else 0.
  std::size_t first_number;
};

/// The chosen matrix as pictures show it. Where rows and columns are no queries and keys they are
/// positions, named by the labels of the queries if there are as many, and dimensions. Throws
/// Error(input) that names the field for positions that are not there, and for a selection of keys
/// where there are none.
Heatmap heatmap_of(const SelectedMap& selected);
/// Its title, of a map of queries and keys.
std::string title_of(const SelectedMap& selected);

/// Sample and head of a map that stands beside others, with its title: "Head 3", "Sample 2, Head
/// 3".
struct MapPlace {
  std::size_t sample = 0, head = 0;
  std::string title;
};

/// Maps that are drawn side by side, sample by sample: those of all chosen samples and heads, or
/// the one that is chosen.
std::vector<MapPlace> places_of(const SelectedMap& selected);
std::vector<Heatmap> maps_of(const SelectedMap& selected);
/// Whether these are several by choice, even if there is but one.
bool side_by_side(const MapSelection& selection);

/// Matrix of a map of queries and keys: of the chosen head, or the mean or the largest of all
/// heads. Throws as heatmap_of() does.
Heatmap selected_heatmap(const SelectedMap& selected);
/// Matrix of another sample and head than the chosen ones.
Heatmap selected_heatmap(const SelectedMap& selected, std::size_t sample, std::size_t head);

/// Samples × heads.
HeatmapGrid selected_grid(const SelectedMap& selected);
/// The chosen head, or with Shown::all every head.
HeadLines selected_lines(const SelectedMap& selected);

/// Heads and samples that are drawn, or taken together, from 0.
std::vector<std::size_t> drawn_heads(const SelectedMap& selected);
std::vector<std::size_t> drawn_samples(const SelectedMap& selected);
/// "Head 3", "12 Heads", "Mean of Heads 1 to 6", as the heads are shown; likewise of samples.
std::string heads_text(const SelectedMap& selected);
std::string samples_text(const SelectedMap& selected);
/// "(Layer 2, Self-Attention, Sample 1, Head 1)", with what is shown of the heads and what was done
/// to the keys.
std::string place_text(const SelectedMap& selected);

/// The warning that a map is one of several samples or heads and how the others are shown, where
/// the choice says nothing about them. `grid`: all heads are shown, of one sample alone where there
/// are layers; `layers`: whether there are.
std::optional<std::string> others_warning(const SelectedMap& selected, bool grid, bool layers);

/// The warning that the picture counts from 1 what the choice names from 0, as in the title
/// "(Sample 1, Head 2)" of head 1; absent where nothing is named or the picture counts from 0.
std::optional<std::string> counting_warning(const SelectedMap& selected);
/// The same of a sample and a head that are named, in a picture that counts from `first`.
std::optional<std::string> counting_warning(std::optional<std::size_t> sample,
                                            std::optional<std::size_t> head, std::size_t first);

/// Warnings of what the choice asks for in vain: pieces of words to merge of which none belong
/// together, rows to renormalise that sum to 1, hidden cells to show plainly where none are.
std::vector<std::string> choices_without_effect(const AttentionMap& map, const MapChoice& choice);

/// Shown positions of an axis, and the labels of all its positions, or none.
struct ShownAxis {
  const std::vector<std::string>& labels;
  std::size_t count = 0;               ///< number of all positions
  std::vector<std::size_t> positions;  ///< shown ones
};

/// Words of two axes; their positions count among those that are shown.
struct WordsOfAxes {
  std::vector<Word> queries, keys;
};

/// Joins pieces of words: into the given words on axes whose pieces fit them, else into the words
/// that the labels mark. Throws Error(input) naming the field if neither words nor labels are
/// there, or the words fit neither axis.
WordsOfAxes merged_words(const std::optional<PieceWords>& given, const ShownAxis& queries,
                         const ShownAxis& keys);

/// The tensor as a request takes it: its slice, then its sizes. Throws Error(input) naming the
/// field.
Tensor taken_tensor(const Tensor& tensor, const MapRequest& request);
/// Axes with those of queries and keys, which may be left out; none stay none. Throws Error(input)
/// for axes that are not those of maps.
std::vector<MapAxis> whole_axes(std::vector<MapAxis> axes);
/// The tensor, which has these axes, with its axes in the order of map_axes().
Tensor in_usual_order(const Tensor& tensor, const std::vector<MapAxis>& axes);

/// Whether the selection leaves out or joins samples, heads or positions of maps.
bool takes_part(const MapSelection& selection);
/// Whether it does so with queries or keys, or takes samples or heads together.
bool takes_positions(const MapSelection& selection);

/// The chosen part of a map as a map of its own, for whoever shows all of it: the chosen samples
/// and heads, or one in the place of those that are taken together, and the chosen queries and
/// keys. Labels, tokens, the mask and the stages follow. Maps that are no queries × keys stay
/// whole. Throws Error(input) naming the field for what is not there, and where samples have words
/// of their own.
AttentionMap chosen_part(AttentionMap map, const MapSelection& selection);

}  // namespace attn
