#include "plot/terminal/terminal_line.hpp"

#include <array>
#include <limits>

namespace attn::plot {
namespace {

// xterm's 256 colours: 16…231 are a cube of six levels a channel, 232…255 are greys.
constexpr std::array<int, 6> levels = {0, 95, 135, 175, 215, 255};

int square(int x) {
  return x * x;
}

// Squared differences with the weights of the eye's sensitivity to red, green and blue.
int distance(Colour a, int red, int green, int blue) {
  return 3 * square(a.red - red) + 6 * square(a.green - green) + square(a.blue - blue);
}

}  // namespace

int nearest_in_palette(Colour colour) {
  int nearest = 0, least = std::numeric_limits<int>::max();
  const auto consider = [&](int index, int red, int green, int blue) {
    const int far = distance(colour, red, green, blue);
    if (far < least) {
      least = far;
      nearest = index;
    }
  };
  int index = 16;
  for (const int red : levels) {
    for (const int green : levels) {
      for (const int blue : levels) consider(index++, red, green, blue);
    }
  }
  for (int grey = 8; grey <= 238; grey += 10) consider(index++, grey, grey, grey);
  return nearest;
}

void TerminalLine::set(char layer, std::optional<Colour>& current, std::optional<Colour> wanted) {
  if (current == wanted) return;
  current = wanted;
  text_ += "\x1b[";
  text_ += layer;
  if (!wanted) {
    text_ += "9m";
  } else if (colors_ == TerminalColors::truecolor) {
    text_ += "8;2;" + std::to_string(wanted->red) + ";" + std::to_string(wanted->green) + ";" +
             std::to_string(wanted->blue) + "m";
  } else {
    text_ += "8;5;" + std::to_string(nearest_in_palette(*wanted)) + "m";
  }
}

void TerminalLine::add(std::string_view text, std::optional<Colour> background,
                       std::optional<Colour> foreground) {
  if (colors_ != TerminalColors::none) {
    set('4', background_, background);
    set('3', foreground_, foreground);
  }
  text_ += text;
}

std::string TerminalLine::finished() {
  if (background_ || foreground_) {
    text_ += "\x1b[0m";
  } else {
    text_.resize(text_.find_last_not_of(' ') + 1);
  }
  return text_ + "\n";
}

}  // namespace attn::plot
