#pragma once

#include "attn/plot.hpp"

#include "plot/colour/colour.hpp"
#include "plot/colour/colour_map.hpp"

namespace attn::plot {

/// What a figure stands on and the colours of all that is not data.
struct Paper {
  Colour ground = white;
  bool clear = false;  ///< whether there is no ground but what is behind the picture
  Colour ink = black;  ///< of texts, frames and ticks
  Colour hidden = {240, 240, 240}, hidden_hatch = {205, 205, 205};   ///< cells that a mask hides
  Colour missing = {222, 229, 238}, missing_dots = {150, 165, 185};  ///< cells that do not exist
  Colour swatch_frame = {90, 90, 90};  ///< around the colours of a key
};

/// The matplotlib style has white paper whatever is asked for.
Paper paper_of(const FigureOptions& options);

/// The paper for a map of colours: where hidden cells would look like values of the map, they have
/// another colour.
Paper beside(const Paper& paper, const ColourMap& map);

}  // namespace attn::plot
