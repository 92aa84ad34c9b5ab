#include "plot/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "support/utf8.hpp"

namespace attn::plot {
namespace {

constexpr std::size_t longest_level = 12;  // columns of a label that stands level above its cell
constexpr std::size_t gap = 1;             // columns between two level labels

// Characters, those that take no column of their own with the one they follow.
std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, std::max<std::size_t>(1, utf8_length(text)));
    if (display_width(character) == 0 && !result.empty()) {
      result.back() += character;
    } else {
      result.emplace_back(character);
    }
    text.remove_prefix(character.size());
  }
  return result;
}

std::string centred(const std::string& text, std::size_t width) {
  const std::size_t own = display_width(text), left = own < width ? (width - own + 1) / 2 : 0;
  return padded_right(std::string(left, ' ') + text, width);
}

// Rows or columns of the matrix from one label to the next: 1, 2, 5, 10, …
std::size_t round_step(std::size_t least) {
  for (std::size_t decade = 1;; decade *= 10) {
    for (const std::size_t step : {decade, 2 * decade, 5 * decade}) {
      if (step >= least) return step;
    }
  }
}

// The cell (or line) of `shown` that shows a row (or column) of the matrix.
std::size_t place_of(std::size_t label, std::size_t shown, std::size_t labels) {
  return label * shown / labels;
}

std::vector<std::string> turned(const TerminalAxis& axis, std::size_t width,
                                std::size_t most_lines) {
  std::vector<std::vector<std::string>> columns;
  std::size_t lines = 0;
  for (const std::string& label : axis.labels) {
    columns.push_back(characters(attn::shortened(label, most_lines)));
    lines = std::max(lines, columns.back().size());
  }
  std::vector<std::string> result(lines);
  for (std::size_t line = 0; line < lines; ++line) {
    for (const auto& column : columns) {
      const std::size_t above = lines - column.size();
      result[line] += centred(line < above ? "" : column[line - above], width);
    }
  }
  return result;
}

// Each label starts above its cell, and there are as many as fit.
std::string thinned(const TerminalAxis& axis, std::size_t width) {
  const std::size_t room = axis.shown * width;
  std::size_t step = round_step((axis.labels.size() + axis.shown - 1) / axis.shown);
  for (;; step = round_step(step + 1)) {
    std::string line;
    std::size_t used = 0;
    bool fits = true;
    for (std::size_t label = 0; label < axis.labels.size() && fits; label += step) {
      const std::string text = attn::shortened(axis.labels[label], longest_level);
      const std::size_t at = place_of(label, axis.shown, axis.labels.size()) * width;
      const std::size_t end = at + display_width(text);
      // One that would reach beyond the cells is left out, but for the first.
      if (label > 0 && end > room) break;
      fits = label == 0 || at >= used + gap;
      if (!fits) break;
      line += std::string(at - used, ' ') + text;
      used = end;
    }
    if (fits) return line;
  }
}

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

std::size_t widest(const std::vector<std::string>& labels, std::size_t most) {
  std::size_t width = 0;
  for (const std::string& label : labels) {
    width = std::max(width, display_width(label));
    if (width >= most) return most;
  }
  return width;
}

std::vector<std::string> key_label_lines(const TerminalAxis& axis, std::size_t width,
                                         std::size_t most_lines) {
  const bool one_each = axis.shown == axis.labels.size();
  if (one_each && widest(axis.labels, width + 1) + gap <= width) {
    std::string line;
    for (const std::string& label : axis.labels) line += centred(label, width);
    return {line};
  }
  std::size_t widest_character = 0;
  if (one_each && axis.given) {
    for (const std::string& label : axis.labels) {
      for (std::string_view rest = label; !rest.empty();) {
        const std::string_view character =
            rest.substr(0, std::max<std::size_t>(1, utf8_length(rest)));
        widest_character = std::max(widest_character, display_width(character));
        rest.remove_prefix(character.size());
      }
    }
    if (widest_character <= width) return turned(axis, width, most_lines);
  }
  return {thinned(axis, width)};
}

std::vector<std::string> query_labels(const TerminalAxis& axis, std::size_t cells_a_line) {
  const std::size_t lines = (axis.shown + cells_a_line - 1) / cells_a_line;
  std::vector<std::string> result(lines);
  const std::size_t step = round_step((axis.labels.size() + lines - 1) / lines);
  for (std::size_t label = 0; label < axis.labels.size(); label += step) {
    std::string& place = result[place_of(label, axis.shown, axis.labels.size()) / cells_a_line];
    if (place.empty()) place = axis.labels[label];
  }
  return result;
}

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
