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
#include <glib.h>
#include <pango/pango.h>
#include FT_FREETYPE_H
#include FT_GLYPH_H

namespace attn::plot {

struct DestroySurface {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};

/// A line of text as matplotlib's Agg backend has it. All sizes are in pixels.
struct HintedLine {
  double width = 0;            ///< from the start to the end of the line
  double ascent = 0;           ///< of the ink above the baseline
  double descent = 0;          ///< of the ink below the baseline
  double left = 0, right = 0;  ///< of the ink, from the start of the line
  /// How much of each pixel is inked (A8); its lower left corner stands a descent and a pixel below
  /// the baseline and `left` from the start. Absent if only measured.
  std::unique_ptr<cairo_surface_t, DestroySurface> coverage;
};

/// A font whose letters FreeType's auto-hinter fits to the pixels, eight times finer across than
/// down: so does matplotlib, and text that is fitted otherwise takes other room and looks different
/// at the resolution of screens.
class HintedFont {
 public:
  /// The installed font that comes nearest to the family's name.
  explicit HintedFont(const char* family);
  ~HintedFont();
  HintedFont(const HintedFont&) = delete;
  HintedFont& operator=(const HintedFont&) = delete;

  /// A line in UTF-8; nothing if the font lacks one of its letters or the script has to be shaped.
  std::optional<HintedLine> line(const std::string& text, double points, double dpi,
                                 bool with_coverage);

 private:
  struct ReleaseGlyph {
    void operator()(FT_Glyph glyph) const { FT_Done_Glyph(glyph); }
  };
  struct LoadedGlyph {
    std::unique_ptr<FT_GlyphRec_, ReleaseGlyph> glyph;
    FT_Pos advance = 0;
  };

  bool set_size(double points, double dpi);
  const LoadedGlyph& load(FT_UInt index);

  FT_Library library_ = nullptr;
  FT_Face face_ = nullptr;
  double points_ = 0, dpi_ = 0;
  std::map<FT_UInt, LoadedGlyph> glyphs_;  ///< of the size set
};

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

/// What letters belong to as people call it, and where Debian has a font for it.
struct ScriptFonts {
  std::string script;    ///< "Hangul", "Devanagari", "emoji"; rarer ones by their ISO 15924 code
  std::string packages;  ///< "fonts-noto-core", "fonts-wqy-zenhei or fonts-noto-cjk"
};

ScriptFonts fonts_for(gunichar letter);

}  // namespace attn::plot
