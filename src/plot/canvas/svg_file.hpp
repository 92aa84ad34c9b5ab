#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pango/pango.h>

#include "plot/canvas/file_text.hpp"
#include "plot/colour/colour.hpp"
#include "plot/text/box.hpp"

namespace attn::plot {

/// What an SVG file holds beside the drawing that Cairo writes, in which letters are outlines and
/// the pixels of images are blurred.
class SvgFile {
 public:
  /// What everything lies on; none until this is called.
  void set_paper(Colour colour) { paper_ = colour; }

  /// The bytes of a PNG file, spread over a box with sharp pixels.
  void add_image(std::string_view png, const Box& box);

  /// A line of text. It names the fonts that it was set in and the width that it took, so that
  /// other fonts take no more. `origin` is where the baseline begins; anticlockwise degrees turn
  /// the line about it.
  void add_text(PangoLayout* line, double width, Point origin, double degrees, Colour colour);

  /// Cairo's file with the paper and the images under its drawing, the texts over it, and what the
  /// file says of itself.
  std::string finished(std::string_view drawing, const FileText& words) const;

 private:
  std::string text_group() const;

  std::optional<Colour> paper_;
  std::string images_, texts_;
  std::vector<std::string> families_;
};

}  // namespace attn::plot
