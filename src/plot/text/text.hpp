#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plot/text/fonts.hpp"

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

/// The smallest box around two.
inline Box united(const Box& a, const Box& b) {
  return {std::min(a.left, b.left), std::min(a.top, b.top), std::max(a.right, b.right),
          std::max(a.bottom, b.bottom)};
}

inline bool overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

struct ReleaseObject {
  void operator()(void* object) const { g_object_unref(object); }
};

/// Ways to make letters.
enum class Lettering {
  outlines,  ///< the font's own outlines, by Pango
  hinted,    ///< fitted to the pixels as matplotlib does; by Pango where that font lacks a letter
  hinted_measure,  ///< hinted, but only to be measured
};

/// One line of text ready to be drawn. Heights are those of the ink, but at least those of "lp", so
/// that lines of one font size take the same room whatever their letters.
struct Text {
  std::unique_ptr<PangoLayout, ReleaseObject> layout;  ///< absent if `hinted` is there
  std::optional<HintedLine> hinted;
  std::string_view string;  ///< the string itself, kept by the typesetter
  double width = 0;         ///< from the start to the end of the line, in pixels
  double height = 0;        ///< the whole height
  double descent = 0;       ///< the part of the height below the baseline
  Box ink;                  ///< the box around its ink, relative to the start of the baseline
};

/// Family of letters unless another is asked for.
inline constexpr const char* usual_family = "DejaVu Sans";

/// Turns strings into measured lines of one family, with other installed fonts for letters it
/// lacks. Not for several threads at once; each may have its own.
class Typesetter {
 public:
  /// Throws Error(usage) for a family that is not installed.
  Typesetter(double pixels_per_point, Lettering lettering,
             const std::string& family = usual_family);

  /// The line for a string at a font size in points; made once and kept. Control characters are
  /// shown as \n, \t, \x07.
  const Text& text(const std::string& string, double points);

  /// Makes the letters bold; before any line.
  void set_bold() { bold_ = true; }

  /// Multiplies the sizes of lines that are asked for from now on; lines made before stay.
  void set_font_scale(double scale) { font_scale_ = scale; }
  double font_scale() const { return font_scale_; }

  double pixels(double points) const { return points * pixels_per_point_; }

  /// A warning for each script with letters that no installed font has.
  std::vector<std::string> warnings() const;

 private:
  bool set_hinted(Text& text, const std::string& line, double points);
  void set_layout(Text& text, const std::string& line, double points);
  void note_missing_letters(PangoLayout* layout);

  double pixels_per_point_;
  std::string family_;
  double font_scale_ = 1;
  bool bold_ = false;
  Lettering lettering_;
  std::unique_ptr<HintedFont> hinted_font_;
  std::unique_ptr<PangoContext, ReleaseObject> context_;
  std::map<std::pair<std::string, double>, Text> texts_;
  std::map<std::string, std::string> missing_scripts_;  ///< with the packages of their fonts
};

/// The most bytes up to `most` after which no letter of UTF-8 is cut.
std::size_t whole_characters(std::string_view string, std::size_t most);

/// `string` shortened in its middle to at most `width` pixels, an ellipsis in place of what was
/// taken out.
std::string shortened(const std::string& string, double points, double width,
                      Typesetter& typesetter);

enum class Horizontal { left, centre, right };
enum class Vertical { top, centre, centre_of_capitals, baseline, bottom };

/// Position of a text relative to its anchor. Turned texts are aligned by the box around the turned
/// text or, with `turned_about_anchor`, aligned while level and then turned about the anchor.
struct Alignment {
  Horizontal horizontal = Horizontal::centre;
  Vertical vertical = Vertical::centre;
  double degrees = 0;  ///< anticlockwise
  bool turned_about_anchor = false;
};

/// A text at its place on the figure.
struct PlacedText {
  const Text* text = nullptr;
  Point origin;  ///< the start of the baseline
  double degrees = 0;
  Box bounds;
};

PlacedText place(const Text& text, Point anchor, const Alignment& alignment);

/// Lines at their places below each other, each at the middle of the block's width; at least one.
/// They are 1.2 heights of a letter apart, as in matplotlib. `lp` is the text "lp" of their size.
std::vector<PlacedText> place_lines(const std::vector<const Text*>& lines, const Text& lp,
                                    Point anchor, const Alignment& alignment);

/// A string cut at its newlines; an empty one is one empty line.
std::vector<std::string> lines_of(const std::string& string);

/// `string` with a newline in place of a space wherever a line would otherwise be wider than
/// `width` pixels. Words wider than that stay whole.
std::string wrapped(const std::string& string, double points, double width, Typesetter& typesetter);

}  // namespace attn::plot
