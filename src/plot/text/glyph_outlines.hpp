#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cairo.h>
#include <ft2build.h>
#include <pango/pango.h>

#include FT_FREETYPE_H

namespace attn::plot {

/// How the curves of letters are added to a path.
enum class Curves {
  kept,      ///< for files of vectors
  straight,  ///< as the lines by which Cairo fills them, at its usual tolerance of 0.1 pixel
};

/// The outlines of letters as Cairo would fill them, with points that are the same on every
/// processor: Cairo makes cubic curves of TrueType's quadratic ones in floating point and cuts the
/// result off, and halves curves until they are near enough to lines, so that a fused multiply-add,
/// which its builds for 64-bit ARM use, moves points and adds some.
class GlyphOutlines {
 public:
  explicit GlyphOutlines(Curves curves) : curves_(curves) {}
  ~GlyphOutlines();
  GlyphOutlines(const GlyphOutlines&) = delete;
  GlyphOutlines& operator=(const GlyphOutlines&) = delete;

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

  FT_Face face_of(PangoFont* font);
  const std::optional<Outline>& outline(PangoFont* font, cairo_scaled_font_t* scaled,
                                        PangoGlyph glyph);

  static Outline straightened(const Outline& outline);

  Curves curves_;

  // Of files, read again: Cairo's faces are set by all threads, each for its own sizes.
  FT_Library library_ = nullptr;
  std::map<std::pair<std::string, int>, FT_Face> faces_;

  std::vector<std::unique_ptr<cairo_scaled_font_t, ReleaseFont>> fonts_;  ///< so that they stay
  std::map<std::pair<cairo_scaled_font_t*, PangoGlyph>, std::optional<Outline>> outlines_;
};

}  // namespace attn::plot
