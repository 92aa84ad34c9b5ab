#include "plot/legend.hpp"

namespace attn::plot {
namespace {

constexpr double kSize = 10;                             // points, of the names
constexpr double kSquare = 10, kGap = 6, kLead = 16;     // points
constexpr double kStripeWidth = 2, kStripeDistance = 6;  // points
constexpr double kFrameWidth = 0.5;                      // points
constexpr double kLongest = 0.4;                         // of the figure's width
constexpr Colour kFrame = {90, 90, 90};

std::string name_of(const LegendEntry& entry, Figure& figure) {
  return shortened(entry.name, kSize, kLongest * figure.width(), figure.typesetter());
}

}  // namespace

Legend::Legend(const std::vector<LegendEntry>& entries, Point corner, Figure& figure) {
  const double square = figure.pixels(kSquare);
  bounds_ = {corner.x, corner.y, corner.x, corner.y};
  for (const LegendEntry& entry : entries) {
    Line line;
    line.square = {corner.x, corner.y, corner.x + square, corner.y + square};
    line.name = place(figure.typesetter().text(name_of(entry, figure), kSize),
                      {line.square.right + figure.pixels(kGap), line.square.centre()},
                      {Horizontal::left, Vertical::centre_of_capitals});
    line.colour = entry.colour;
    line.stripes = entry.stripes;
    bounds_ = united(bounds_, united(line.square, line.name.bounds));
    lines_.push_back(line);
    corner.y += figure.pixels(kLead);
  }
}

double Legend::width(const std::vector<LegendEntry>& entries, Figure& figure) {
  return Legend(entries, {0, 0}, figure).bounds().width();
}

void Legend::draw(Canvas& canvas, const Figure& figure) const {
  for (const Line& line : lines_) {
    canvas.fill(line.square, line.colour);
    if (line.stripes) draw_stripes(canvas, {line.square}, *line.stripes, figure);
    canvas.stroke(line.square, kFrame, figure.pixels(kFrameWidth));
    canvas.text(line.name, kBlack);
  }
}

void draw_stripes(Canvas& canvas, const std::vector<Box>& boxes, Colour colour,
                  const Figure& figure) {
  canvas.hatch(boxes, colour, figure.pixels(kStripeWidth), figure.pixels(kStripeDistance));
}

}  // namespace attn::plot
