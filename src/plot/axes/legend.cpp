#include "plot/axes/legend.hpp"

namespace attn::plot {
namespace {

constexpr double name_size = 10;                             // points, of the names
constexpr double square_side = 12, name_gap = 6, lead = 18;  // points
constexpr double line_length = 24;                         // points, of a line in a square's place
constexpr double stroke_width = 0.9, stroke_distance = 5;  // points
constexpr double thin_width = 0.5, thin_distance = 5;      // points
constexpr double border_width = 0.5;                       // points
constexpr double longest_name = 0.4;                       // of the figure's width

// Points in pixels, in proportion to the letters.
double scaled(double points, const Figure& figure) {
  return figure.pixels(points) * figure.font_scale();
}

std::string name_of(const LegendEntry& entry, Figure& figure) {
  return shortened(entry.name, name_size, longest_name * figure.width(), figure.typesetter());
}

}  // namespace

Legend::Legend(const std::vector<LegendEntry>& entries, Point corner, Figure& figure) {
  const double square = scaled(square_side, figure);
  bounds_ = {corner.x, corner.y, corner.x, corner.y};
  for (const LegendEntry& entry : entries) {
    Row row;
    const double width = entry.line_width > 0 ? scaled(line_length, figure) : square;
    row.square = {corner.x, corner.y, corner.x + width, corner.y + square};
    row.name = place(figure.typesetter().text(name_of(entry, figure), name_size),
                     {row.square.right + scaled(name_gap, figure), row.square.centre()},
                     {Horizontal::left, Vertical::centre_of_capitals});
    row.entry = entry;
    bounds_ = united(bounds_, united(row.square, row.name.bounds));
    rows_.push_back(row);
    corner.y += scaled(lead, figure);
  }
}

double Legend::width(const std::vector<LegendEntry>& entries, Figure& figure) {
  return Legend(entries, {0, 0}, figure).bounds().width();
}

double Legend::height(std::size_t entries, const Figure& figure) {
  return static_cast<double>(entries) * scaled(lead, figure);
}

void Legend::draw(Canvas& canvas, const Figure& figure) const {
  for (const Row& row : rows_) {
    const LegendEntry& entry = row.entry;
    if (entry.line_width > 0) {
      std::vector<double> dashes;
      for (const double dash : entry.dashes) dashes.push_back(figure.pixels(dash));
      canvas.line({row.square.left, row.square.centre()}, {row.square.right, row.square.centre()},
                  {entry.colour, entry.opacity, figure.pixels(entry.line_width), dashes});
    } else {
      canvas.fill(row.square, entry.colour);
      if (entry.thin) {
        for (const Canvas::Hatch hatch : entry.hatches) {
          canvas.hatch({row.square}, entry.strokes, figure.pixels(thin_width),
                       figure.pixels(thin_distance), hatch);
        }
      } else {
        draw_hatches(canvas, {row.square}, entry.hatches, entry.strokes, figure);
      }
      canvas.stroke(row.square, figure.paper().swatch_frame, figure.pixels(border_width));
    }
    canvas.text(row.name, figure.paper().ink);
  }
}

void draw_hatches(Canvas& canvas, const std::vector<Box>& boxes,
                  const std::vector<Canvas::Hatch>& hatches, Colour colour, const Figure& figure) {
  for (const Canvas::Hatch hatch : hatches) {
    canvas.hatch(boxes, colour, figure.pixels(stroke_width), figure.pixels(stroke_distance), hatch);
  }
}

}  // namespace attn::plot
