#include "plot/subplots.hpp"

// The proportions are matplotlib's defaults (figure.subplot.*, Figure.colorbar).

namespace attn::plot {
namespace {

constexpr double kLeft = 0.125, kRight = 0.9, kTop = 0.88, kBottom = 0.11;
constexpr double kGap = 0.2;              // between places, of a place's size
constexpr double kLeastPlace = 0.3;       // of what a place would have with the usual gap
constexpr double kColourBarWidth = 0.15;  // of the area
constexpr double kColourBarGap = 0.05;    // of the area

/// The size of each of several places along an axis and the gap between them.
struct Spacing {
  double size, gap;
};

Spacing spacing(double length, std::size_t places, double least_gap) {
  const double count = static_cast<double>(places);
  const double size = length / (count + kGap * (count - 1));
  const double smaller = (length - least_gap * (count - 1)) / count;
  if (least_gap <= kGap * size || smaller < kLeastPlace * size) return {size, kGap * size};
  return {smaller, least_gap};
}

}  // namespace

Box default_subplot_area(double width, double height) {
  return {kLeft * width, (1 - kTop) * height, kRight * width, (1 - kBottom) * height};
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
  axes.right = area.left + (1 - kColourBarWidth - kColourBarGap) * area.width();
  colour_bar.left = area.left + (1 - kColourBarWidth) * area.width();
  return {axes, colour_bar};
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
