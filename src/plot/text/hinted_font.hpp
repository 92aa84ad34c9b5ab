#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <cairo.h>
#include <ft2build.h>
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

}  // namespace attn::plot
