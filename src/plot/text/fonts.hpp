#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plot/libraries/drawing_libraries.hpp"

namespace attn::plot {

struct DestroySurface {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};

/// A line of text as matplotlib's Agg backend has it. All sizes are in pixels.
struct HintedLine {
  double width = 0;            ///< from the start to the end of the line
  double ascent = 0;           ///< height of the ink above the baseline
  double descent = 0;          ///< depth of the ink below the baseline
  double left = 0, right = 0;  ///< ends of the ink, from the start of the line
  /// Coverage of each pixel by ink (A8). Its lower left corner stands a descent and a pixel below
  /// the baseline and `left` from the start. Absent if the line is only measured.
  std::unique_ptr<cairo_surface_t, DestroySurface> coverage;
};

/// Families made for the scripts of a text, ",Noto Sans Thai", to follow others; none of scripts
/// that come with several styles or that usual fonts have. Without them a font of many scripts, in
/// which most look ill, would be taken by chance.
std::string families_of_scripts(const std::string& text);

/// Whether there is a font of this family, or one that stands for a general name such as "serif".
bool is_installed(const std::string& family);

/// An installed family with the letters of the language that the name of another one says, "zh-cn"
/// of "Noto Sans CJK SC"; empty if the name says none, or there is no such font.
std::string installed_instead(const std::string& family);

/// A font whose letters FreeType's auto-hinter fits to the pixels, eight times finer across than
/// down, as in matplotlib. Text that is fitted otherwise takes other room and looks different at
/// the resolution of screens.
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
  std::map<FT_UInt, LoadedGlyph> glyphs_;  ///< in the size that is set
};

/// Form of the curves of letters in a path.
enum class Curves {
  kept,      ///< for files of vectors
  straight,  ///< lines by which Cairo fills them, at its usual tolerance of 0.1 pixel
};

/// Outlines of letters as Cairo would fill them, with the same points on every processor. Cairo
/// makes cubic curves of TrueType's quadratic ones in floating point, truncates them, and halves
/// curves until they are near enough to lines; a fused multiply-add, which its builds for 64-bit
/// ARM use, moves points and adds some.
class GlyphOutlines {
 public:
  explicit GlyphOutlines(Curves curves) : curves_(curves) {}
  ~GlyphOutlines();
  GlyphOutlines(const GlyphOutlines&) = delete;
  GlyphOutlines& operator=(const GlyphOutlines&) = delete;

  /// Adds letters to Cairo's path, from its current point on. Returns false and adds nothing if one
  /// of them is no plain outline.
  bool add(cairo_t* cairo, PangoFont* font, const PangoGlyphString& glyphs);

 private:
  /// A piece of a path in units of 1/256 pixel from the letter's origin, y downwards, as in Cairo.
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

  // Faces of font files, opened here too: all threads set the sizes of Cairo's own faces.
  FT_Library library_ = nullptr;
  std::map<std::pair<std::string, int>, FT_Face> faces_;

  std::vector<std::unique_ptr<cairo_scaled_font_t, ReleaseFont>> fonts_;  ///< keys of outlines_
  std::map<std::pair<cairo_scaled_font_t*, PangoGlyph>, std::optional<Outline>> outlines_;
};

/// A script by its usual name, and the Debian packages with a font for it.
struct ScriptFonts {
  std::string script;    ///< "Hangul", "Devanagari", "emoji"; rarer ones by their ISO 15924 code
  std::string packages;  ///< "fonts-noto-core", "fonts-wqy-zenhei or fonts-noto-cjk"
};

ScriptFonts fonts_for(gunichar letter);

}  // namespace attn::plot
