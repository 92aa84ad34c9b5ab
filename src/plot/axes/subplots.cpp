#include "plot/axes/subplots.hpp"

// The proportions are matplotlib's defaults (figure.subplot.*, Figure.colorbar).

namespace attn::plot {
namespace {

constexpr double default_left = 0.125, default_right = 0.9, default_top = 0.88,
                 default_bottom = 0.11;
constexpr double usual_gap = 0.2;          // between places, of a place's size
constexpr double least_place = 0.3;        // of what a place would have with the usual gap
constexpr double colour_bar_width = 0.15;  // of the area
constexpr double colour_bar_gap = 0.05;    // of the area

// The size of each of several places along an axis and the gap between them.
struct Spacing {
  double size, gap;
};

Spacing spacing(double length, std::size_t places, double least_gap) {
  const double count = static_cast<double>(places);
  const double size = length / (count + usual_gap * (count - 1));
  const double smaller = (length - least_gap * (count - 1)) / count;
  if (least_gap <= usual_gap * size || smaller < least_place * size)
    return {size, usual_gap * size};
  return {smaller, least_gap};
}

}  // namespace

Box default_subplot_area(double width, double height) {
  return {default_left * width, (1 - default_top) * height, default_right * width,
          (1 - default_bottom) * height};
}

Box tight_subplot_area(const Box& area, const Box& decorated, double width, double height,
                       double pad) {
  const auto margin = [pad](double taken) { return std::max(taken, 0.0) + pad; };
  const Box tight = {margin(area.left - decorated.left), margin(area.top - decorated.top),
                     width - margin(decorated.right - area.right),
                     height - margin(decorated.bottom - area.bottom)};
  return tight.empty() ? area : tight;
}

std::vector<Box> subplot_places(const Box& area, std::size_t rows, std::size_t columns,
                                const Gaps& least) {
  const Spacing across = spacing(area.width(), columns, least.across);
  const Spacing down = spacing(area.height(), rows, least.down);
  std::vector<Box> places;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double left = area.left + static_cast<double>(j) * (across.size + across.gap);
      const double top = area.top + static_cast<double>(i) * (down.size + down.gap);
      places.push_back({left, top, left + across.size, top + down.size});
    }
  }
  return places;
}

ColourBarSplit split_for_colour_bar(const Box& area) {
  Box axes = area, colour_bar = area;
  axes.right = area.left + (1 - colour_bar_width - colour_bar_gap) * area.width();
  colour_bar.left = area.left + (1 - colour_bar_width) * area.width();
  return {axes, colour_bar};
}

double aspect_of(std::size_t rows, std::size_t columns) {
  constexpr double flattest = 0.25, highest = 2;
  return std::clamp(static_cast<double>(rows) / static_cast<double>(columns), flattest, highest);
}

Box with_square_cells(const Box& place, std::size_t rows, std::size_t columns) {
  const Box square = with_aspect(place, aspect_of(rows, columns), 1);
  const bool wasteful = 2 * square.width() * square.height() < place.width() * place.height();
  return wasteful ? place : square;
}

Box with_aspect(const Box& place, double height_to_width, double anchor) {
  double width = place.width(), height = width * height_to_width;
  if (height > place.height()) {
    height = place.height();
    width = height / height_to_width;
  }
  const double left = place.left + anchor * (place.width() - width);
  const double top = place.centre() - height / 2;
  return {left, top, left + width, top + height};
}

}  // namespace attn::plot
