#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/pictures.hpp"
#include "attn/plot.hpp"
#include "attn/tensor.hpp"

#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "maps/selected_map.hpp"
#include "result/result_reader.hpp"
#include "why/splits.hpp"

namespace attn {

/// Formulas of the stages of a score, which stand below them. Absent where a result does not say.
struct StageFormulas {
  std::string score;              ///< of a score before its scale: "q·k"
  std::optional<double> scale;    ///< factor of the scores
  std::string scale_text;         ///< "1/√64"
  std::optional<double> softcap;  ///< c of c·tanh(s/c)
  std::string mask;               ///< "s + bias; hidden: −∞"
  bool sinks = false;             ///< whether the sum of a row has the term of a sink
};

/// Formulas of one attention of a plan.
StageFormulas stage_formulas(const Plan& plan, const PlannedAttention& attention);

/// A map, with what only pictures of it need.
struct DrawnMap {
  AttentionMap map;
  std::string column;  ///< title in a comparison: the file or the kind
  StageFormulas formulas;
  std::optional<MaskMap> mask;        ///< of a document whose maps are not computed
  std::optional<Heatmap> chosen;      ///< of the chosen sample and heads, if it is there already
  std::optional<AttentionMap> asked;  ///< its asked_rows(), where its own numbers are not kept
};

/// Splits of a score and a logit, with the names of the tokens that they are about.
struct DrawnSplits {
  std::shared_ptr<const WhySplits> splits;
  std::vector<std::string> tokens;  ///< of the text, or of an encoder-decoder's decoder
  std::vector<std::string> read;    ///< of the encoder's text; of other models as `tokens`
  std::string token;                ///< whose logit is split
  std::string against = {};         ///< whose logit is taken away from it; empty = none
};

struct DrawnPanels;
namespace plot {
struct StackedBars;
}

/// Lines of comma-separated values, the first with the names of the columns.
using CorpusTable = std::vector<std::vector<std::string>>;
/// Tables of a folder that a reading of a corpus wrote: statistics, and mean weights by offset.
struct CorpusTables {
  CorpusTable heads, offsets;
};
/// Throws Error(file), and Error(input) for a folder of something else.
CorpusTables read_corpus_tables(const std::filesystem::path& folder, const FileAccess& access);

/// Side of a panel in inches where heads stand side by side.
inline constexpr double head_side = 2.6;

/// Contents of a picture and how it is drawn.
struct Drawing {
  std::vector<DrawnMap> of;  ///< layers of a grid, files or kinds of a comparison; else one
  std::vector<std::pair<std::string, Shape>> shapes;  ///< of all tensors, by name
  MapChoice choice;
  PlotOptions options;
  PictureFormat format = PictureFormat::png;
  DrawnSplits split = {};                           ///< of pictures of parts
  std::shared_ptr<const DrawnPanels> panels = {};   ///< of a figure
  std::shared_ptr<const CorpusTables> corpus = {};  ///< of a card
  std::shared_ptr<const plot::StackedBars> shares = {};
};

/// A panel of a figure, with what is drawn in it.
struct DrawnPanel {
  PlotKind kind = PlotKind::heatmap;
  Drawing drawing;
  double share = 1;
  std::string place;                  ///< of errors
  std::vector<std::string> warnings;  ///< of reading
};
struct DrawnPanels {
  std::vector<std::vector<DrawnPanel>> rows;
  bool one_scale = false, shared_bar = false, letters = true;
};

// Pictures by their kinds. They throw as the functions of plot.hpp do, and Error(input) where the
// drawing lacks the contents of the picture.
Picture draw_map(const Drawing& drawing);
Picture draw_map_grid(const Drawing& drawing);
Picture draw_map_lines(const Drawing& drawing);
Picture draw_map_arcs(const Drawing& drawing);
Picture draw_map_strip(const Drawing& drawing);
Picture draw_map_overlay(const Drawing& drawing);
/// Layers × heads as small overlays.
Picture draw_overlay_grid(const Drawing& drawing);
Picture draw_comparison(const Drawing& drawing);
Picture draw_difference(const Drawing& drawing);
Picture draw_mask(const Drawing& drawing);
Picture draw_stages(const Drawing& drawing);
Picture draw_steps(const Drawing& drawing);
Picture draw_panels(const Drawing& drawing);
Picture draw_card(const Drawing& drawing);
/// The heads that stand out of a stack of maps, as PlotOptions::best asks, and the others as dots.
Picture draw_best_heads(const Drawing& drawing, std::size_t count);
Picture draw_positions(const Drawing& drawing);
Picture draw_position_curves(const Drawing& drawing);
/// An animated PNG of animation_frames(). Throws Error(usage) for another format.
Picture draw_animation(const Drawing& drawing);

/// The text with the weights of each chosen query in turn or, of several layers, the map of each,
/// all of one size and on one range of colours. Throws Error(input) for more than 500.
std::vector<Picture> animation_frames(const Drawing& drawing);

/// Keys of a chosen map, or of one row of it, with the weights that its one query gives them, or
/// with the mean of the queries that see them.
TokenStrip token_strip(const SelectedMap& selected, const Heatmap& map);
/// One query of a map.
Heatmap row_of(const Heatmap& map, std::size_t row);
Picture draw_parts(const Drawing& drawing);
Picture draw_part_bars(const Drawing& drawing);
Picture draw_part_path(const Drawing& drawing);
Picture draw_contributions(const Drawing& drawing);
Picture draw_shares(const Drawing& drawing);

/// A bar for each head of each attention, with its mean shares of the parts of a text.
plot::StackedBars bars_of_shares(const std::vector<AttentionName>& attentions,
                                 const std::vector<std::string>& parts,
                                 const std::vector<std::vector<std::vector<double>>>& means);
/// Such bars of the shares of an answer in a result. Throws Error(input) that names its file if
/// there are none.
plot::StackedBars bars_of_shares(ResultReader& file);

/// The map with one row for each sample and head, [B,H,1,Lk]: that of the query which an overlay
/// shows, named by its label, or the mean of several.
AttentionMap asked_rows(const AttentionMap& map, const MapChoice& choice);

/// The chosen heatmap, or all of the chosen samples and heads.
std::vector<Heatmap> maps_of(const DrawnMap& drawn, const SelectedMap& selected);

/// Options with what names the numbers of a map: labels of its colour bar and, where rows and
/// columns are no queries and keys, of its axes.
PlotOptions options_for(const Drawing& drawing, const AttentionMap& map);

/// "Title " of a document, or other words.
std::string title_or(const std::string& title, const std::string& otherwise);

/// Matrix of two tensors of one shape whose difference is drawn.
struct DifferenceMap {
  Tensor a, b;       ///< of at least two axes
  std::string name;  ///< of the tensor
  Shape index;       ///< of an element of the matrix
  Labels labels;     ///< of the rows and columns of a map
};

/// Name of the matrix: "weights", or "weights[0,1]" where it is one of several.
std::string pictured_name(const DifferenceMap& map);

/// Heatmap of a − b on a diverging colour map whose middle is zero. `provenance` goes into its
/// metadata.
Picture draw_difference(const DifferenceMap& map, PictureFormat format, double dpi,
                        const std::string& provenance);

/// Mask of a document in a file, without computing it. Errors name the document.
MaskMap document_mask(const PlotRequest& request, const ResultReader& file);

/// Encoding of positions [L,D]: of an input document what it adds to its embedded tokens,
/// sinusoidal or learned by its model, as many as it reads; of another file the tensor that is
/// named, or its only one. Throws Error(input) naming the file, or the field, if there is none.
AttentionMap read_positions(const PlotRequest& request, const std::shared_ptr<ResultReader>& file);

}  // namespace attn
