#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <cairo.h>
#include <pango/pango.h>

namespace attn::plot {

/// The outlines of letters as Cairo would fill them, with points that are the same on every
/// processor: Cairo makes cubic curves of TrueType's quadratic ones in floating point and cuts the
/// result off, so that a fused multiply-add, which its builds for 64-bit ARM use, moves points.
class GlyphOutlines {
 public:
  /// Adds the letters to Cairo's path, from its current point on. False, and nothing is added, if
  /// one of them is no plain outline.
  bool add(cairo_t* cairo, PangoFont* font, const PangoGlyphString& glyphs);

 private:
  /// In device units of 1/256 pixel from the letter's origin, y downwards, as Cairo's paths are.
  struct Segment {
    enum class Kind { move, line, curve, close } kind;
    std::array<long, 6> points{};
  };
  using Outline = std::vector<Segment>;
  struct Contours;
  struct ReleaseFont {
    void operator()(cairo_scaled_font_t* font) const { cairo_scaled_font_destroy(font); }
  };

  const std::optional<Outline>& outline(cairo_scaled_font_t* font, PangoGlyph glyph);

  std::vector<std::unique_ptr<cairo_scaled_font_t, ReleaseFont>> fonts_;  ///< so that they stay
  std::map<std::pair<cairo_scaled_font_t*, PangoGlyph>, std::optional<Outline>> outlines_;
};

}  // namespace attn::plot
