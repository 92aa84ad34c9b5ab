#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/document.hpp"
#include "attn/named.hpp"
#include "attn/plot.hpp"

#include "cli/common_flags.hpp"

namespace attn::cli {

/// Opens the standard streams that the program was started without, for nothing: a file opened
/// later would get their numbers, and with them everything printed. Using them stays an error.
void occupy_closed_streams() noexcept;

/// Prints to standard output, byte by byte: reports for people are terminal_lines(), as names in
/// them may come from anywhere. If the reader has gone away the text is dropped silently; any other
/// failure throws Error(file).
void print(std::string_view text);

/// print() of results themselves. Once their reader has gone away there is nothing left to work
/// for: the program ends at once by SIGPIPE, exit code 141 in a shell, as others do in a pipeline.
void print_result(std::string_view data);

/// Prints "attn-cli: warning: …" for each on standard error, with flags in place of options'
/// fields.
void warn(const std::vector<std::string>& warnings);

/// Prints "attn-cli: …" on standard error, without anything that a terminal would obey.
void complain(std::string_view text) noexcept;

/// Values of the flags about the terminal.
struct TerminalChoice {
  enum class Colors { always, never, automatic } colors = Colors::automatic;
  std::optional<std::size_t> width;
};

/// Adds --color and --width.
void add_terminal(Flags& flags, TerminalChoice& choice);

/// Colours and size of standard output: from --color and --width, else from --no-color and
/// NO_COLOR, else from COLORTERM, TERM and the terminal's size. Throws Error(usage) for flags that
/// contradict each other.
TerminalOptions terminal_options(const TerminalChoice& choice, const Common& common);

/// Way in which a map is shown in the terminal.
enum class ShownAs { automatic, blocks, sixel, kitty };

/// Names of the ways, for flags.
std::span<const Named<ShownAs>> shown_as() noexcept;

/// Protocol of pictures that the terminal of standard output knows, by its answer to a query on
/// standard input; none if either is no terminal, or nothing is answered soon.
std::optional<TerminalPictures> asked_terminal();

/// Pixels of the terminal's width, as it says itself or about.
double terminal_pixels(std::size_t columns);

/// A line of the terminal on standard error that changes as work goes on. Without a terminal there
/// nothing is shown.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// It appears after `delay` and changes at most once in each `interval`.
  explicit ProgressLine(bool quiet, Clock::duration delay = std::chrono::seconds(1),
                        Clock::duration interval = std::chrono::milliseconds(200));
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether there is a terminal to show it on.
  bool shown() const noexcept { return shown_; }

  /// May be called by any thread at any rate. `text` is called only when it is shown; the `last`
  /// one always is.
  void show(const std::function<std::string()>& text, bool last = false);

  /// Removes the line until it is shown again.
  void clear() noexcept;

 private:
  bool shown_, drawn_ = false;
  Clock::duration interval_;
  Clock::time_point next_;
  std::mutex guard_;
};

/// Columns that COLUMNS names or else the terminal has; `unknown` without either.
std::size_t terminal_columns(std::size_t unknown = 80);
/// Columns that a report on standard output may take: those of the terminal, or any number in a
/// file or a pipe, unless COLUMNS says so.
std::size_t report_columns();

/// "computing 43 %, 1.2 G scores/s, 12 s left", for `done` of `all` scores after some seconds; an
/// estimate of the rest only after five.
std::string progress_text(std::size_t done, std::size_t all, double seconds);

/// Has the line show how many of the tokens that are generated there are: "12 of 64 tokens". It
/// must outlive the options.
void show_generation(DocumentOptions& options, ProgressLine& line);

/// "12 s", "3 min", "2 h"
std::string duration_text(double seconds);

/// A rate per second as text: "4.2", "980", "1.2 k".
std::string rate_text(double each_second);

}  // namespace attn::cli
