#include "cli/output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/terminal.hpp"

namespace attn::cli {

namespace {

// Returns 0, or the error number of the first write that fails.
int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void occupy_closed_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // A new descriptor gets the lowest free number, which is this one: those below it are taken.
    [[maybe_unused]] const int taken =
        open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

namespace {

[[noreturn]] void fail_to_print(int reason) {
  throw Error(ErrorKind::file,
              translated("cannot write to standard output: {1}", translated(std::strerror(reason))),
              "", translated("check where the output is sent"));
}

}  // namespace

void print(std::string_view text) {
  const int failure = write_all(STDOUT_FILENO, text);
  if (failure != 0 && failure != EPIPE && failure != EBADF) fail_to_print(failure);
}

void print_result(std::string_view data) {
  const int failure = write_all(STDOUT_FILENO, data);
  if (failure == 0) return;
  if (failure != EPIPE) fail_to_print(failure);
  std::signal(SIGPIPE, SIG_DFL);
  sigset_t broken_pipe;
  sigemptyset(&broken_pipe);
  sigaddset(&broken_pipe, SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &broken_pipe, nullptr);
  raise(SIGPIPE);
  _exit(128 + SIGPIPE);
}

void warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    complain(translated("warning: {1}", with_flags(warning)));
}

void complain(std::string_view text) noexcept {
  write_all(STDERR_FILENO, "attn-cli: ");
  try {
    write_all(STDERR_FILENO, terminal_lines(text));
  } catch (const std::bad_alloc&) {
    write_all(STDERR_FILENO, "…");
  }
  write_all(STDERR_FILENO, "\n");
}

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
  flags.begin_group(FlagGroup::output);
  flags.choice("--color", choice.colors, when, "WHEN", translated(": colours in the terminal"));
  flags.add("--width", "N", translated("Width in columns (default: the terminal's)"),
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
      // COLUMNS is not set, or no sensible number: the default stays.
    }
  }
  return options;
}

namespace {

// Moves to the first column and erases the line.
constexpr const char* start_of_line = "\r\x1b[K";

}  // namespace

std::size_t terminal_columns(std::size_t unknown) {
  std::size_t columns = unknown;
  if (parse_number(std::string(environment("COLUMNS")), columns) && columns >= least_width)
    return std::min(columns, most_width);
  winsize size{};
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return unknown;
}

std::size_t report_columns() {
  const std::size_t any = most_width;
  std::size_t columns = 0;
  const bool given = parse_number(std::string(environment("COLUMNS")), columns);
  return given || isatty(STDOUT_FILENO) == 1 ? terminal_columns(any) : any;
}

std::string duration_text(double seconds) {
  constexpr double minute = 60, hour = 3600;
  const auto text = [](double count, const char* unit) {
    return std::to_string(static_cast<long long>(std::ceil(count))) + " " + unit;
  };
  if (seconds < 2 * minute) return text(seconds, "s");
  if (seconds < 2 * hour) return text(seconds / minute, "min");
  return text(std::min(seconds / hour, 1e6), "h");
}

std::string rate_text(double each_second) {
  constexpr std::array<const char*, 5> units{"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  for (; each_second >= 999.5 && unit + 1 < units.size(); ++unit) each_second /= 1000;
  std::array<char, 32> text{};
  char* const end = std::to_chars(text.data(), text.data() + text.size(), each_second,
                                  std::chars_format::general, 3)
                        .ptr;
  return std::string(text.data(), end) + units[unit];
}

std::string progress_text(std::size_t done, std::size_t all, double seconds) {
  done = std::min(done, all);
  const double share =
      static_cast<double>(done) / static_cast<double>(std::max<std::size_t>(all, 1));
  const int percent = static_cast<int>(100 * share);
  if (done == 0 || seconds <= 0) return translated("computing {1} %", percent);
  // The first measurements take in the start of threads and the reading of files.
  constexpr double least_seconds = 5;
  const std::string rate = rate_text(static_cast<double>(done) / seconds);
  return done < all && seconds >= least_seconds
             ? translated("computing {1} %, {2} scores/s, {3} left", percent, rate,
                          duration_text(seconds * (1 - share) / share))
             : translated("computing {1} %, {2} scores/s", percent, rate);
}

void show_generation(DocumentOptions& options, ProgressLine& line) {
  if (!line.shown()) return;
  options.generated = [&line](std::size_t done, std::size_t all) {
    line.show([&] { return translated("{1} of {2} tokens", done, all); });
  };
}

ProgressLine::ProgressLine(bool quiet, Clock::duration delay, Clock::duration interval)
    : shown_(!quiet && isatty(STDERR_FILENO) == 1),
      interval_(interval),
      next_(Clock::now() + delay) {}

void ProgressLine::show(const std::function<std::string()>& text, bool last) {
  if (!shown_) return;
  // A thread that finds another one drawing goes on computing.
  const std::unique_lock lock(guard_, std::try_to_lock);
  const Clock::time_point now = Clock::now();
  if (!lock || (now < next_ && !last)) return;
  next_ = now + interval_;
  drawn_ = true;
  write_all(STDERR_FILENO, start_of_line + text());
}

void ProgressLine::clear() noexcept {
  const std::lock_guard lock(guard_);
  if (drawn_) write_all(STDERR_FILENO, start_of_line);
  drawn_ = false;
}

namespace {

constexpr auto ways = std::to_array<Named<ShownAs>>({{"auto", ShownAs::automatic},
                                                     {"blocks", ShownAs::blocks},
                                                     {"sixel", ShownAs::sixel},
                                                     {"kitty", ShownAs::kitty}});

/// A terminal that neither shows what it answers nor waits for the end of a line.
class QuietTerminal {
 public:
  QuietTerminal() : known_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!known_) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &quiet);
  }
  ~QuietTerminal() {
    if (known_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;

 private:
  termios before_{};
  bool known_;
};

// The primary device attributes, ESC [ ? … c, end the answer: every terminal states them.
bool is_whole(const std::string& answer) {
  const std::size_t attributes = answer.find("\x1b[?");
  return attributes != std::string::npos && answer.find('c', attributes) != std::string::npos;
}

std::string answer_to(const std::string& query) {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::milliseconds(200);
  const QuietTerminal quiet;
  std::string answer;
  if (::write(STDOUT_FILENO, query.data(), query.size()) != static_cast<ssize_t>(query.size())) {
    return answer;
  }
  for (const auto end = Clock::now() + patience; !is_whole(answer);) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (left <= 0 || poll(&input, 1, static_cast<int>(left)) <= 0) break;
    std::array<char, 256> part{};
    const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
    if (count <= 0) break;
    answer.append(part.data(), static_cast<std::size_t>(count));
  }
  return answer;
}

// Whether the device attributes list 4, sixels.
bool lists_sixels(const std::string& answer) {
  const std::size_t begin = answer.find("\x1b[?");
  if (begin == std::string::npos) return false;
  const std::size_t end = answer.find('c', begin);
  const std::string list = ";" + answer.substr(begin + 3, end - begin - 3) + ";";
  return list.find(";4;") != std::string::npos;
}

}  // namespace

std::span<const Named<ShownAs>> shown_as() noexcept {
  return ways;
}

std::optional<TerminalPictures> asked_terminal() {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) return std::nullopt;
  // In the background a program that reads or sets the terminal is stopped.
  if (tcgetpgrp(STDIN_FILENO) != getpgrp()) return std::nullopt;
  // A picture of one pixel for kitty's protocol, which is only checked, and the attributes.
  const std::string answer = answer_to("\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c");
  if (answer.find("\x1b_Gi=31;OK") != std::string::npos) return TerminalPictures::kitty;
  if (lists_sixels(answer)) return TerminalPictures::sixel;
  return std::nullopt;
}

double terminal_pixels(std::size_t columns) {
  constexpr double usual_letter = 9;
  winsize size{};
  const bool known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_xpixel > 0 && size.ws_col > 0;
  return static_cast<double>(columns) *
         (known ? static_cast<double>(size.ws_xpixel) / size.ws_col : usual_letter);
}

}  // namespace attn::cli
