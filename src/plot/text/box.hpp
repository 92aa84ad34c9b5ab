#pragma once

#include <algorithm>
#include <cstddef>

namespace attn::plot {

inline constexpr double points_per_inch = 72;

/// A place on the figure in pixels: x to the right, y downwards.
struct Point {
  double x = 0, y = 0;
};

/// A rectangle on the figure in pixels, y downwards.
struct Box {
  double left = 0, top = 0, right = 0, bottom = 0;

  double width() const { return right - left; }
  double height() const { return bottom - top; }
  double middle() const { return (left + right) / 2; }
  double centre() const { return (top + bottom) / 2; }
  bool empty() const { return !(width() > 0 && height() > 0); }

  Box padded(double margin) const {
    return {left - margin, top - margin, right + margin, bottom + margin};
  }
  Box moved(double dx, double dy) const { return {left + dx, top + dy, right + dx, bottom + dy}; }
};

/// The smallest box around both.
inline Box united(const Box& a, const Box& b) {
  return {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
          std::max(a.bottom, b.bottom)};
}

inline bool overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

}  // namespace attn::plot
