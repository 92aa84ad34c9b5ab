#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pango/pango.h>

#include "plot/colour/colour.hpp"
#include "plot/text/box.hpp"

namespace attn::plot {

/// A string as it stands in XML, between elements or in an attribute.
std::string xml_text(std::string_view text);

/// The bytes of a PNG file as an element of an SVG file, spread over a box with sharp pixels.
std::string svg_image(std::string_view png, const Box& box);

/// Lines of text as elements of an SVG file, which name the fonts that they were set in and the
/// width that they took, so that other fonts take no more.
class SvgTexts {
 public:
  /// `origin` is where the baseline begins; anticlockwise degrees turn the line about it.
  void add(PangoLayout* line, double width, Point origin, double degrees, Colour colour);

  /// All of them in one group; empty if there are none.
  std::string elements() const;

 private:
  std::string texts_;
  std::vector<std::string> families_;
};

}  // namespace attn::plot
