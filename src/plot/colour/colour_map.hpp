#pragma once

#include <array>
#include <string>

#include "plot/colour/colour.hpp"

namespace attn::plot {

/// 256 colours spread evenly over [0, 1].
class ColourMap {
 public:
  /// One of attn::colour_maps(). Throws Error(usage) for another name, with the nearest one.
  explicit ColourMap(const std::string& name);

  /// The colour of a position; positions beyond an end take the end's colour, NaN the first one.
  Colour at(double position) const;

  /// Colours for up to eight things that have no place in the map, the first ones unlike its own.
  Colour apart(std::size_t index) const;

  Colour operator[](std::size_t index) const { return colours_[index]; }
  static constexpr std::size_t size() { return 256; }

 private:
  std::array<Colour, 256> colours_;
};

/// Whether the colours of a map part at its middle, as those for values about zero do.
bool is_diverging(const std::string& name);

}  // namespace attn::plot
