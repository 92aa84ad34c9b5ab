#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/plot.hpp"
#include "attn/run.hpp"
#include "attn/tensor.hpp"

#include "document/labels.hpp"
#include "maps/map_selection.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_meaning.hpp"

namespace attn {

/// How the stages of a score come about, for the formulas below them. Absent where it is not known:
/// a result does not tell.
struct StageFormulas {
  std::string score;              ///< of a score before its scale: "q·k"
  std::optional<double> scale;    ///< that the scores are multiplied by
  std::string scale_text;         ///< "1/√64"
  std::optional<double> softcap;  ///< c of c·tanh(s/c)
  std::string mask;               ///< "s + bias; hidden: −∞"
  bool sinks = false;             ///< whether a row has one more term in its sum
};

/// One attention, or another tensor, as pictures see it: just computed, or read from a file. What
/// is not known is absent.
struct Drawable {
  std::string name;                ///< of the file, for errors
  std::string column;              ///< what it goes by in a comparison
  std::string tensor = "weights";  ///< the name of what stands in `weights`
  TensorMeaning meaning = TensorMeaning::weights;
  std::optional<std::size_t> layer;  ///< of a stack, from 0
  std::string where;        ///< among the layers of a stack, "Layer 2"; empty = as `tensor` tells
  Tensor weights, allowed;  ///< allowed is absent without a mask
  Tensor scores, capped, masked;  ///< the stages
  bool heads_only = false;        ///< as Maps takes it
  std::size_t heads_a_group = 1;  ///< that share a key and value head
  /// Other maps of weights of the same file, which a picture of this one does not show.
  std::vector<std::string> left_out;
  StageFormulas formulas;
  std::function<MaskMap()> mask;  ///< with the parts that hide; empty if `allowed` is all there is
  Labels labels;
  std::string title;              ///< of the document
  std::string cells;              ///< what a cell of pooled weights is
  std::optional<Heatmap> chosen;  ///< of the drawing's sample and heads, if it was made already
  std::vector<std::pair<std::string, Shape>> shapes;  ///< of all tensors, by name

  bool is_map() const { return meaning != TensorMeaning::positions; }
  bool holds_weights() const { return meaning == TensorMeaning::weights; }
};

/// What a picture is to show. Most show the first of `of`.
struct Drawing {
  std::vector<Drawable> of;  ///< layers of a grid, files or kinds of a comparison
  std::size_t sample = 0, head = 0;
  MapSelection selection;
  PlotOptions options;
  PictureFormat format = PictureFormat::png;
};

/// The weights of a drawable as maps, with those that tell which cells no mask hides, if they are
/// known.
struct DrawableMaps {
  Maps weights;
  std::optional<Maps> allowed;
};

/// Throws Error(input) if there are no weights, or if labels or `allowed` do not fit them. The
/// labels of a tensor that is no map are not looked at: heatmap_of() takes those that fit.
DrawableMaps maps_of(const Drawable& drawable);

/// What of `maps`, those of the drawable, the drawing chooses. Throws Error(input) naming the field
/// if there is no such sample or head.
SelectedMaps selected(const DrawableMaps& maps, const Drawing& drawing, const Drawable& drawable);

/// The chosen matrix. Where rows and columns are no queries and keys they are positions, named by
/// the labels of the queries if there are as many, and dimensions; Error(input) then for a
/// selection that only keys can have.
Heatmap heatmap_of(const Drawable& drawable, const SelectedMaps& maps);

/// What of the chosen sample is drawn side by side: all heads, or the one map that is chosen.
std::vector<Heatmap> heads_of(const Drawable& drawable, const SelectedMaps& maps);

/// What is to be said if pieces of words are to be merged and none belong together.
std::optional<std::string> merging_warning(const Drawing& drawing);

/// Throws Error(input) if rows and columns are no queries and keys.
void check_is_map(const Drawable& drawable);

/// The error with the name of the drawable's file, unless it is one of the request.
Error placed(const Error& error, const Drawable& drawable);

}  // namespace attn
