#include "plot/colour/colour.hpp"

#include <cmath>

#include <pango/pango.h>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn::plot {
namespace {

double linear(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

}  // namespace

Colour parse_colour(const std::string& text) {
  PangoColor color;
  if (text.find('\0') != std::string::npos || !pango_color_parse(&color, text.c_str())) {
    throw Error(ErrorKind::usage, translated("unknown colour \"{1}\"", text), "",
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

}  // namespace attn::plot
