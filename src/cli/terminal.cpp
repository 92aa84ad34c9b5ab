#include "cli/terminal.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "attn/language.hpp"
#include "attn/named.hpp"

namespace attn::cli {
namespace {

constexpr std::size_t least_width = 20, most_width = 10000;
constexpr auto when =
    std::to_array<Named<TerminalChoice::Colors>>({{"always", TerminalChoice::Colors::always},
                                                  {"never", TerminalChoice::Colors::never},
                                                  {"auto", TerminalChoice::Colors::automatic}});

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT: no thread changes the environment
  return value ? value : "";
}

bool truecolor() {
  const std::string_view colorterm = environment("COLORTERM"), term = environment("TERM");
  return colorterm == "truecolor" || colorterm == "24bit" || term.ends_with("-direct");
}

TerminalColors colors_of_the_terminal() {
  const std::string_view term = environment("TERM");
  if (!isatty(STDOUT_FILENO) || term == "dumb" || !environment("NO_COLOR").empty())
    return TerminalColors::none;
  if (truecolor()) return TerminalColors::truecolor;
  return term.find("256color") != term.npos ? TerminalColors::palette : TerminalColors::none;
}

TerminalColors colors(const TerminalChoice& choice, const Common& common) {
  using Colors = TerminalChoice::Colors;
  if (choice.colors == Colors::always) {
    if (common.no_color) {
      throw Error(ErrorKind::usage,
                  translated("--color always and --no-color contradict each other"), "--color",
                  translated("leave one of them out"));
    }
    return truecolor() ? TerminalColors::truecolor : TerminalColors::palette;
  }
  if (choice.colors == Colors::never || common.no_color) return TerminalColors::none;
  return colors_of_the_terminal();
}

}  // namespace

void add_terminal(Flags& flags, TerminalChoice& choice) {
  flags.choice("--color", choice.colors, when, "WHEN", translated(": colours in the terminal"));
  flags.add("--width", "N", translated("Columns to draw on (default: the terminal's)"),
            [&](const std::string& text) {
              choice.width = whole_number("--width", text, least_width);
              if (*choice.width > most_width) {
                throw wrong_value("--width", text, translated("at most {1} columns", most_width));
              }
            });
}

TerminalOptions terminal_options(const TerminalChoice& choice, const Common& common) {
  TerminalOptions options;
  options.colors = colors(choice, common);
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  if (known) options.lines = size.ws_row;
  if (choice.width) {
    options.columns = *choice.width;
  } else if (known && size.ws_col > 0) {
    options.columns = size.ws_col;
  } else {
    try {
      options.columns = whole_number("COLUMNS", std::string(environment("COLUMNS")), least_width);
      options.columns = std::min(options.columns, most_width);
    } catch (const Error&) {
      // Not set, or to nothing sensible: the default stays.
    }
  }
  return options;
}

}  // namespace attn::cli
