#include "cli/terminal.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "cli/flag_values.hpp"

namespace attn::cli {
namespace {

constexpr std::size_t least_width = 20, most_width = 10000;

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

TerminalColors colors(const TerminalArguments& arguments, const CommonArguments& common) {
  constexpr std::array<std::string_view, 3> names{"always", "never", "auto"};
  if (arguments.color) {
    const std::size_t chosen = choice("--color", *arguments.color, names);
    if (chosen == 0 && common.no_color) {
      throw Error(ErrorKind::usage, "--color always and --no-color contradict each other",
                  "--color", "leave one of them out");
    }
    if (chosen == 0) return truecolor() ? TerminalColors::truecolor : TerminalColors::palette;
    if (chosen == 1) return TerminalColors::none;
  }
  return common.no_color ? TerminalColors::none : colors_of_the_terminal();
}

}  // namespace

TerminalOptions terminal_options(const TerminalArguments& arguments,
                                 const CommonArguments& common) {
  TerminalOptions options;
  options.colors = colors(arguments, common);
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  if (known) options.lines = size.ws_row;
  if (arguments.width) {
    options.columns = whole_number("--width", *arguments.width, least_width);
    if (options.columns > most_width) {
      throw Error(ErrorKind::usage, "\"" + *arguments.width + "\" is not what --width takes",
                  "--width", "give at most " + std::to_string(most_width) + " columns");
    }
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
