#include "plot/axes/legend.hpp"

namespace attn::plot {
namespace {

constexpr double name_size = 10;                             // points, of the names
constexpr double square_side = 10, name_gap = 6, lead = 16;  // points
constexpr double stripe_width = 2, stripe_distance = 6;      // points
constexpr double thin_width = 0.5, thin_distance = 5;        // points
constexpr double border_width = 0.5;                         // points
constexpr double longest_name = 0.4;                         // of the figure's width
constexpr Colour frame_colour = {90, 90, 90};

std::string name_of(const LegendEntry& entry, Figure& figure) {
  return shortened(entry.name, name_size, longest_name * figure.width(), figure.typesetter());
}

}  // namespace

Legend::Legend(const std::vector<LegendEntry>& entries, Point corner, Figure& figure) {
  const double square = figure.pixels(square_side);
  bounds_ = {corner.x, corner.y, corner.x, corner.y};
  for (const LegendEntry& entry : entries) {
    Line line;
    line.square = {corner.x, corner.y, corner.x + square, corner.y + square};
    line.name = place(figure.typesetter().text(name_of(entry, figure), name_size),
                      {line.square.right + figure.pixels(name_gap), line.square.centre()},
                      {Horizontal::left, Vertical::centre_of_capitals});
    line.colour = entry.colour;
    line.stripes = entry.stripes;
    line.thin = entry.thin;
    bounds_ = united(bounds_, united(line.square, line.name.bounds));
    lines_.push_back(line);
    corner.y += figure.pixels(lead);
  }
}

double Legend::width(const std::vector<LegendEntry>& entries, Figure& figure) {
  return Legend(entries, {0, 0}, figure).bounds().width();
}

double Legend::height(std::size_t entries, const Figure& figure) {
  return static_cast<double>(entries) * figure.pixels(lead);
}

void Legend::draw(Canvas& canvas, const Figure& figure) const {
  for (const Line& line : lines_) {
    canvas.fill(line.square, line.colour);
    if (line.stripes && line.thin) {
      canvas.hatch({line.square}, *line.stripes, figure.pixels(thin_width),
                   figure.pixels(thin_distance));
    } else if (line.stripes) {
      draw_stripes(canvas, {line.square}, *line.stripes, figure);
    }
    canvas.stroke(line.square, frame_colour, figure.pixels(border_width));
    canvas.text(line.name, black);
  }
}

void draw_stripes(Canvas& canvas, const std::vector<Box>& boxes, Colour colour,
                  const Figure& figure) {
  canvas.hatch(boxes, colour, figure.pixels(stripe_width), figure.pixels(stripe_distance));
}

}  // namespace attn::plot
