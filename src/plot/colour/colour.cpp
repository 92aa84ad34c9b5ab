#include "plot/colour/colour.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "attn/error.hpp"

#include "plot/libraries/drawing_libraries.hpp"
#include "support/errors.hpp"
#include "support/translated.hpp"

namespace attn {

std::vector<std::string_view> colour_maps() {
  // The reversed names need storage of their own.
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& table : plot::colour_tables()) {
      all.emplace_back(table.name);
      all.push_back(all.back() + "_r");
    }
    return all;
  }();
  return {names.begin(), names.end()};
}

std::string help_for_foreign_map(std::string_view name) {
  // Maps of matplotlib, seaborn, Plotly and MATLAB by their kind.
  constexpr std::string_view from_least =
      "afmhot,autumn,bone,cool,copper,crest,cubehelix,flag,flare,gist_earth,gist_heat,"
      "gist_ncar,gist_rainbow,gist_stern,gnuplot,gnuplot2,hot,jet,mako,nipy_spectral,ocean,parula,"
      "pink,prism,rainbow,rocket,spring,summer,terrain,turbo,winter,wistia";
  constexpr std::string_view about_zero =
      "balance,berlin,brbg,icefire,managua,piyg,portland,prgn,rdgy,rdylbu,rdylgn,seismic,spectral,"
      "vanimo,vlag";
  constexpr std::string_view of_sorts =
      "accent,dark2,hsv,paired,pastel1,pastel2,set1,set2,set3,tab10,tab20,tab20b,tab20c,twilight,"
      "twilight_shifted";
  std::string plain(name);
  for (char& c : plain) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const std::string end = plain.ends_with("_r") ? "_r" : "";
  plain.resize(plain.size() - end.size());
  if (has_word(from_least, plain))
    return translated("there is no {1}: write {2}, which also goes from least to most", name,
                      (plain == "hot" ? "inferno" : "viridis") + end);
  if (has_word(about_zero, plain))
    return translated("there is no {1}: write {2}, which also has two sides about its middle", name,
                      "coolwarm" + end);
  if (has_word(of_sorts, plain))
    return translated("there is no {1}, which is for classes or angles: write {2}", name,
                      "viridis" + end);
  return "";
}

namespace plot {
namespace {

double linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

constexpr std::size_t digits_a_colour = 6;

std::uint8_t channel(std::string_view digits) {
  std::uint8_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

Colour colour(std::string_view table, std::size_t index) {
  const std::string_view digits = table.substr(index * digits_a_colour, digits_a_colour);
  return {channel(digits.substr(0, 2)), channel(digits.substr(2, 2)), channel(digits.substr(4, 2))};
}

// The colour at `index` of `size` among a few, rounded as matplotlib rounds it: in double precision
// on positions from 0 to size − 1, then towards zero.
Colour between(std::string_view few, bool reversed, std::size_t index, std::size_t size) {
  const std::size_t count = few.size() / digits_a_colour;
  const auto anchor = [&](std::size_t i) { return colour(few, reversed ? count - 1 - i : i); };
  if (index == 0) return anchor(0);
  if (index + 1 == size) return anchor(count - 1);
  const double last = static_cast<double>(size - 1), step = 1 / static_cast<double>(count - 1);
  const double at = last * (static_cast<double>(index) * (1 / last));
  const auto place = [&](std::size_t i) {
    return i + 1 == count ? last : last * (static_cast<double>(i) * step);
  };
  std::size_t next = 1;
  while (place(next) < at) ++next;
  const double share = (at - place(next - 1)) / (place(next) - place(next - 1));
  const Colour low = anchor(next - 1), high = anchor(next);
  const auto mixed = [&](std::uint8_t a, std::uint8_t b) {
    const double from = a / 255.0, to = b / 255.0;
    return static_cast<std::uint8_t>((share * (to - from) + from) * 255.0);
  };
  return {mixed(low.red, high.red), mixed(low.green, high.green), mixed(low.blue, high.blue)};
}

// Okabe and Ito's colours, the two light ones darker, so that each has a contrast of at least 3
// with white and with dark paper; the one that is most like another comes late.
constexpr std::array<Colour, 6> head_colours = {
    {{0, 114, 178}, {204, 121, 167}, {0, 158, 115}, {213, 94, 0}, {180, 138, 66}, {48, 150, 240}}};
// Blue and red from a dark middle, the more light the farther from it.
constexpr std::string_view colours_about_zero_on_dark =
    "deebf79ecae14292c6084594"
    "202024"
    "99000dde2d26fb8a6bfee5d9";
constexpr std::size_t dash_sorts = most_heads_apart / head_colours.size();

bool looks_like_one_of(const ColourMap& map, Colour colour) {
  constexpr int near = 24;  // the largest difference of a channel
  for (std::size_t i = 0; i < ColourMap::size(); ++i) {
    const Colour other = map[i];
    if (std::max({std::abs(other.red - colour.red), std::abs(other.green - colour.green),
                  std::abs(other.blue - colour.blue)}) < near) {
      return true;
    }
  }
  return false;
}

}  // namespace

Colour parse_colour(const std::string& text) {
  PangoColor color;
  if (text.find('\0') != std::string::npos || !pango_color_parse(&color, text.c_str())) {
    throw Error(ErrorKind::usage, translated("unknown colour \"{1}\"", text),
                "AnnotationOptions::color",
                translated("give a CSS colour name such as white or navy, or #rrggbb"));
  }
  const auto byte = [](guint16 value) { return static_cast<std::uint8_t>(value >> 8); };
  return {byte(color.red), byte(color.green), byte(color.blue)};
}

Colour readable_on(Colour background) {
  const double luminance = 0.2126 * linear(background.red) + 0.7152 * linear(background.green) +
                           0.0722 * linear(background.blue);
  const double with_black = (luminance + 0.05) / 0.05;
  const double with_white = 1.05 / (luminance + 0.05);
  return with_white > with_black ? white : black;
}

ColourMap::ColourMap(const std::string& name) {
  if (name == map_about_zero_on_dark) {
    for (std::size_t i = 0; i < size(); ++i)
      colours_[i] = between(colours_about_zero_on_dark, false, i, size());
    return;
  }
  const bool reversed = name.ends_with("_r");
  const std::string_view base = std::string_view(name).substr(0, name.size() - (reversed ? 2 : 0));
  for (const auto& table : colour_tables()) {
    if (table.name != base) continue;
    const bool few = table.colours.size() < size() * digits_a_colour;
    for (std::size_t i = 0; i < size(); ++i) {
      colours_[i] = few                      ? between(table.colours, reversed, i, size())
                    : !reversed              ? colour(table.colours, i)
                    : table.reversed.empty() ? colour(table.colours, size() - 1 - i)
                                             : colour(table.reversed, i);
    }
    return;
  }
  const auto names = colour_maps();
  const std::string foreign = help_for_foreign_map(name);
  throw Error(ErrorKind::usage, translated("unknown colour map \"{1}\"", name), "",
              foreign.empty() ? suggestion(name, names) : foreign);
}

Colour ColourMap::at(double position) const {
  if (!(position > 0)) return colours_.front();
  if (position >= 1) return colours_.back();
  return colours_[static_cast<std::size_t>(position * static_cast<double>(size()))];
}

Colour ColourMap::apart(std::size_t index) const {
  constexpr std::array<Colour, 8> candidates = {{{211, 211, 211},
                                                 {128, 128, 128},
                                                 {221, 160, 221},
                                                 {106, 130, 190},
                                                 {120, 200, 180},
                                                 {150, 110, 70},
                                                 {60, 60, 60},
                                                 {255, 255, 255}}};
  constexpr int far_enough = 40;  // the largest difference of a channel
  const auto is_far = [this](Colour candidate) {
    return std::all_of(colours_.begin(), colours_.end(), [&](Colour colour) {
      return std::max({std::abs(colour.red - candidate.red),
                       std::abs(colour.green - candidate.green),
                       std::abs(colour.blue - candidate.blue)}) >= far_enough;
    });
  };
  // Candidates far from the map's own colours come first, in their order.
  std::array<Colour, candidates.size()> ordered = candidates;
  std::stable_partition(ordered.begin(), ordered.end(), is_far);
  return ordered[std::min(index, ordered.size() - 1)];
}

bool is_diverging(const std::string& name) {
  constexpr std::array<std::string_view, 4> diverging{"RdBu", "coolwarm", "PuOr", "bwr"};
  return std::any_of(diverging.begin(), diverging.end(),
                     [&](std::string_view map) { return name.starts_with(map); });
}

Colour head_colour(std::size_t head) {
  return head_colours[head % head_colours.size()];
}

std::vector<double> head_dashes(std::size_t head) {
  switch (head / head_colours.size() % dash_sorts) {
    case 0:
      return {};
    case 1:
      return {6, 3};
    case 2:
      return {1.5, 2.5};
    default:
      return {8, 2.5, 1.5, 2.5};
  }
}

Paper beside(const Paper& paper, const ColourMap& map) {
  Paper result = paper;
  if (!looks_like_one_of(map, paper.hidden)) return result;
  struct Look {
    Colour hidden, hatch;
  };
  const bool dark = paper.ground.red < 128;
  constexpr std::array<Look, 3> on_light{{{{205, 205, 205}, {160, 160, 160}},
                                          {{170, 200, 235}, {120, 155, 200}},
                                          {{190, 225, 190}, {140, 180, 140}}}};
  constexpr std::array<Look, 3> on_dark{{{{92, 92, 96}, {136, 136, 142}},
                                         {{62, 82, 118}, {104, 126, 160}},
                                         {{60, 100, 70}, {100, 144, 110}}}};
  for (const Look& look : dark ? on_dark : on_light) {
    if (looks_like_one_of(map, look.hidden)) continue;
    result.hidden = look.hidden;
    result.hidden_hatch = look.hatch;
    return result;
  }
  // Beside NaN, the infinities and what is not positive.
  constexpr std::size_t next_apart = 4;
  result.hidden = map.apart(next_apart);
  result.hidden_hatch = paper.swatch_frame;
  return result;
}

Paper paper_of(const FigureOptions& options) {
  Paper paper;
  if (options.style == PlotStyle::matplotlib) return paper;
  switch (options.background) {
    case Background::white:
      break;
    case Background::dark:
      paper.ground = {28, 28, 30};
      paper.ink = {232, 232, 232};
      paper.hidden = {52, 52, 56};
      paper.hidden_hatch = {92, 92, 98};
      paper.missing = {38, 44, 54};
      paper.missing_dots = {96, 112, 134};
      paper.swatch_frame = {170, 170, 170};
      break;
    case Background::transparent:
      paper.clear = true;
      break;
  }
  return paper;
}

}  // namespace plot
}  // namespace attn
