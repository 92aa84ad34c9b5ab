#pragma once

#include <string>

#include "plot/axes/axes.hpp"
#include "plot/axes/figure.hpp"
#include "plot/canvas/canvas.hpp"
#include "plot/colour/colour_scale.hpp"
#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// The axes of a colour bar within its place: twenty times as high as wide, ticks on its right.
Axes colour_bar_axes(const Box& place, Interval range, const std::string& label,
                     const Figure& figure, const ColorNorm& norm = {});

/// The values along a bar whose colours are spread over the range as the norm says.
void set_bar_ticks(Axes& bar, Interval range, const Figure& figure, const ColorNorm& norm);

/// The colours of the bar, the map's first at the bottom, and an arrow at an end that values lie
/// beyond.
void draw_colour_ramp(Canvas& canvas, const Box& box, const ColourScale& scale);
/// How far an arrow goes beyond the bar.
double arrow_height(const Box& bar);

/// Ticks at the round values of an axis that shows `view` over `length` pixels.
void set_value_ticks(Axis& axis, Interval view, double length, bool horizontal,
                     const Figure& figure);

}  // namespace attn::plot
