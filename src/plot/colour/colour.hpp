#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/plot.hpp"

#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"

namespace attn::plot {

/// An opaque sRGB colour.
struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;

  friend bool operator==(const Colour&, const Colour&) = default;
};

/// The colour as 0xRRGGBB.
constexpr std::uint32_t packed(Colour colour) {
  return static_cast<std::uint32_t>(colour.red) << 16 |
         static_cast<std::uint32_t>(colour.green) << 8 | colour.blue;
}

inline constexpr Colour black = {0, 0, 0};
inline constexpr Colour white = {255, 255, 255};

/// A CSS colour name, #rgb or #rrggbb. Throws Error(usage) for anything else.
Colour parse_colour(const std::string& text);

/// Black or white, whichever has the greater contrast ratio (WCAG 2.1) on `background`.
Colour readable_on(Colour background);

/// 256 colours spread evenly over [0, 1].
class ColourMap {
 public:
  /// One of attn::colour_maps(). Throws Error(usage) for another name, with the nearest one.
  explicit ColourMap(const std::string& name);

  /// The colour of a position; positions beyond an end take the end's colour, NaN the first one.
  Colour at(double position) const;

  /// Colours for up to eight things that have no place in the map, the first ones unlike its own.
  Colour apart(std::size_t index) const;

  Colour operator[](std::size_t index) const { return colours_[index]; }
  static constexpr std::size_t size() { return 256; }

 private:
  std::array<Colour, 256> colours_;
};

/// Whether a map diverges from its middle, as those for values about zero do.
bool is_diverging(const std::string& name);

/// The colours of one map, 6 hexadecimal digits each (RRGGBB): all 256, or the few that stand at
/// equal distances and between which the others lie evenly.
struct ColourTable {
  std::string_view name;
  std::string_view colours;
  std::string_view reversed;  ///< of the map named with "_r"; empty: `colours` from the end
};

std::span<const ColourTable> colour_tables();

/// Number of heads whose lines differ in colour or dashes, also for readers who see no red, green
/// or blue.
inline constexpr std::size_t most_heads_apart = 24;

/// Name of the usual map of numbers of both signs on a dark ground, which no list has.
inline constexpr const char* map_about_zero_on_dark = "RdBu_r/dark";

/// Name of the usual map of differences in such a figure: its middle is as the ground.
std::string map_of_differences(const FigureOptions& figure);

Colour head_colour(std::size_t head);
/// Dashes of a head's lines: points drawn and left out by turns; none = a whole line.
std::vector<double> head_dashes(std::size_t head);

/// The ground of a figure and the colours of everything that is not data.
struct Paper {
  Colour ground = white;
  bool clear = false;  ///< whether the ground is transparent
  Colour ink = black;  ///< texts, frames and ticks
  Colour hidden = {240, 240, 240}, hidden_hatch = {205, 205, 205};   ///< cells that a mask hides
  Colour missing = {222, 229, 238}, missing_dots = {150, 165, 185};  ///< cells that do not exist
  Colour swatch_frame = {90, 90, 90};  ///< around the colours of a key
};

/// The paper that options ask for; white in the matplotlib style.
Paper paper_of(const FigureOptions& options);

/// Paper for cells in a map's colours: hidden cells that would look like values of the map get
/// another colour.
Paper beside(const Paper& paper, const ColourMap& map);

/// Position of a value in a range by the norm: 0 at the low end, 1 at the high end, less or more
/// beyond them. On a logarithmic scale the range is above zero, and values that are not positive
/// stand at minus infinity.
double position_of(double value, Interval range, const ColorNorm& norm);

/// The colours of some matrices, and the values that they are spread over.
struct ColourScale {
  ColourMap map;
  Interval range;
  ColorNorm norm;                                ///< never automatic
  bool norm_chosen = false;                      ///< whether an automatic norm became a power
  bool beyond_low = false, beyond_high = false;  ///< whether values lie outside a range asked for
  /// Keys that each query sees, where every row of weights sums to 1 over as many keys; otherwise
  /// 0.
  std::size_t keys_of_rows = 0;
  bool whole_rows = false;  ///< whether every row sums to 1
  /// The most keys of any frame of an animation, where their numbers differ, so that the mark of
  /// the even weight moves in a column of its own; otherwise 0.
  std::size_t keys_of_frames = 0;
  double least_end = 0;     ///< value that a range from zero reaches at least
  bool percent = false;     ///< whether the bar's numbers are hundredths, as those of cells
};

/// The scale that options ask for, or the usual one of weights or of other numbers that
/// ColorOptions::cmap, ColorRange and ColorNorm describe; a logarithmic one ends six decades below
/// the largest value. Throws Error(usage) for an impossible range and for an unknown map.
ColourScale colour_scale(std::span<const Matrix> matrices, bool weights,
                         const ColorOptions& options, const FigureOptions& figure);

/// Upper end of the usual scale of weights whose rows sum to 1, the largest of them being
/// `largest`: 1 where there are few columns, else no less than a multiple of the even weight of the
/// `keys` that each query sees, 0 if their numbers differ.
double end_of_whole_rows(double largest, std::size_t columns, std::size_t keys);

/// Shortens a range that begins at zero, or has it in its middle, to the values shown, where pixels
/// show the means of many cells; one from zero to no less than `least_end`. Returns whether the
/// range is of one of these kinds.
bool narrow_to_shown(Interval& range, Interval shown, double least_end = 0);

}  // namespace attn::plot
