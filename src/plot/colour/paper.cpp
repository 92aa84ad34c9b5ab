#include "plot/colour/paper.hpp"

namespace attn::plot {

Paper paper_of(const PlotOptions& options) {
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
