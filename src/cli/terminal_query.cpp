#include <array>
#include <chrono>
#include <string>

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/output.hpp"

namespace attn::cli {
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
  if (write(STDOUT_FILENO, query.data(), query.size()) != static_cast<ssize_t>(query.size())) {
    return answer;
  }
  for (const auto end = Clock::now() + patience; !is_whole(answer);) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (left <= 0 || poll(&input, 1, static_cast<int>(left)) <= 0) break;
    std::array<char, 256> part{};
    const ssize_t count = read(STDIN_FILENO, part.data(), part.size());
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
