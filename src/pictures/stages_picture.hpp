#pragma once

#include <optional>
#include <string>

#include "attn/plot.hpp"

#include "document/plan.hpp"
#include "pictures/selected_map.hpp"

namespace attn {

/// The tensors of one attention's walk from scores to weights, those that are known.
struct Stages {
  Tensor scores, capped, masked, weights;
  Tensor allowed;           ///< absent without a mask
  bool heads_only = false;  ///< as Maps takes it
};

/// How the stages come about, for the formulas below them. Absent where it is not known: a result
/// does not tell.
struct StageFormulas {
  std::string score;              ///< of a score before its scale: "q·k"
  std::optional<double> scale;    ///< that the scores are multiplied by
  std::string scale_text;         ///< "1/√64"
  std::optional<double> softcap;  ///< c of c·tanh(s/c)
  std::string mask;               ///< "s + bias; hidden: −∞"
};

StageFormulas stage_formulas(const Plan& plan, const PlannedAttention& attention);

/// The stages side by side, a head a row: raw scores, scaled ones, masked ones, weights. What
/// changes nothing has no panel. `maps` tells sample, head, labels and selection; scores are not
/// merged into words.
HeatmapGrid stages_grid(const Stages& stages, const StageFormulas& formulas,
                        const SelectedMaps& maps);

/// The grid with its title and a colour bar a panel.
Picture draw_stages(const HeatmapGrid& grid, const SelectedMaps& maps, PlotOptions options,
                    PictureFormat format);

}  // namespace attn
