#pragma once

#include "attn/plot.hpp"

#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "maps/selected_map.hpp"

namespace attn {

StageFormulas stage_formulas(const Plan& plan, const PlannedAttention& attention);

/// The stages side by side, a head a row: raw scores, scaled ones, masked ones, weights. What
/// changes nothing has no panel. `maps` are what is chosen of the drawable's; scores are not merged
/// into words. Throws Error(input) if there are no stages, or if one does not fit the weights.
HeatmapGrid stages_grid(const Drawable& stages, const SelectedMaps& maps);

}  // namespace attn
