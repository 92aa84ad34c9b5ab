#pragma once

#include <cstdint>
#include <string>

namespace attn::plot {

/// An opaque sRGB colour.
struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;

  friend bool operator==(const Colour&, const Colour&) = default;
};

/// As 0xRRGGBB.
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

}  // namespace attn::plot
