#include "plot/colour/paper.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace attn::plot {
namespace {

bool looks_like_one_of(const ColourMap& map, Colour colour) {
  constexpr int near = 24;  // the largest difference of a channel
  for (std::size_t i = 0; i < ColourMap::size(); ++i) {
    const Colour other = map[i];
    if (std::max({std::abs(other.red - colour.red), std::abs(other.green - colour.green),
                  std::abs(other.blue - colour.blue)}) < near) {
      return true;
    }
  }
  return false;
}

}  // namespace

Paper beside(const Paper& paper, const ColourMap& map) {
  Paper result = paper;
  if (!looks_like_one_of(map, paper.hidden)) return result;
  struct Look {
    Colour hidden, hatch;
  };
  const bool dark = paper.ground.red < 128;
  constexpr std::array<Look, 3> on_light{{{{205, 205, 205}, {160, 160, 160}},
                                          {{170, 200, 235}, {120, 155, 200}},
                                          {{190, 225, 190}, {140, 180, 140}}}};
  constexpr std::array<Look, 3> on_dark{{{{92, 92, 96}, {136, 136, 142}},
                                         {{62, 82, 118}, {104, 126, 160}},
                                         {{60, 100, 70}, {100, 144, 110}}}};
  for (const Look& look : dark ? on_dark : on_light) {
    if (looks_like_one_of(map, look.hidden)) continue;
    result.hidden = look.hidden;
    result.hidden_hatch = look.hatch;
    return result;
  }
  // Beside NaN, the infinities and what is not positive.
  constexpr std::size_t next_apart = 4;
  result.hidden = map.apart(next_apart);
  result.hidden_hatch = paper.swatch_frame;
  return result;
}

Paper paper_of(const FigureOptions& options) {
  Paper paper;
  if (options.style == PlotStyle::matplotlib) return paper;
  switch (options.background) {
    case Background::white:
      break;
    case Background::dark:
      paper.ground = {28, 28, 30};
      paper.ink = {232, 232, 232};
      paper.hidden = {52, 52, 56};
      paper.hidden_hatch = {92, 92, 98};
      paper.missing = {38, 44, 54};
      paper.missing_dots = {96, 112, 134};
      paper.swatch_frame = {170, 170, 170};
      break;
    case Background::transparent:
      paper.clear = true;
      break;
  }
  return paper;
}

}  // namespace attn::plot
