#pragma once

#include "attn/plot.hpp"

#include "maps/attention_map.hpp"
#include "maps/selected_map.hpp"

namespace attn {

/// The keys of the chosen map with what the one query that is chosen gives to them, or what all
/// queries give on average.
TokenStrip token_strip(const Drawable& drawable, const SelectedMaps& maps);

}  // namespace attn
