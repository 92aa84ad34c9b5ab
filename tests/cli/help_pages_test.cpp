#include <cstddef>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"

namespace {

const std::string commands[]{"run",     "batch",   "plot",     "show",       "explain", "heads",
                             "view",    "compare", "validate", "schema",     "model",   "tokens",
                             "example", "bench",   "list",     "completion", "manual"};

std::string page(const std::string& arguments, const std::string& columns) {
  const Outcome outcome = shell("COLUMNS=" + columns + " \"$ATTN\" " + arguments);
  CHECK(outcome.exit_code == 0);
  return outcome.output;
}

// Lines of a page in ASCII that are wider, but for examples and for terms alone.
std::string wide_lines(const std::string& text, std::size_t columns) {
  std::istringstream lines(text);
  std::string wide;
  for (std::string line; std::getline(lines, line);) {
    std::size_t width = 0;
    for (const char c : line) width += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (width > columns && !line.starts_with("  attn-cli ")) wide += line + "\n";
  }
  return wide;
}

std::size_t flags_in(const std::string& text) {
  std::istringstream lines(text);
  std::size_t flags = 0;
  for (std::string line; std::getline(lines, line);) {
    flags += line.starts_with("  -") ? 1 : 0;
  }
  return flags;
}

}  // namespace

TEST_CASE("no line of a help page is wider than the terminal") {
  for (const std::string& command : commands) {
    for (const std::string columns : {"50", "80", "132"}) {
      CAPTURE(command);
      CAPTURE(columns);
      CHECK(wide_lines(page(command + " -h", columns), std::stoul(columns)) == "");
      CHECK(wide_lines(page(command + " --help", columns), std::stoul(columns)) == "");
    }
  }
  CHECK(wide_lines(page("--help", "60"), 60) == "");
}

TEST_CASE("the short page has examples and about a dozen flags, the long one all in groups") {
  for (const std::string& command : commands) {
    CAPTURE(command);
    const std::string brief = page(command + " -h", "80");
    CHECK(brief.find("\nExamples:\n  attn-cli " + command) != std::string::npos);
    CHECK(flags_in(brief) >= 1);
    CHECK(flags_in(brief) <= 13);
    CHECK(brief.ends_with("--help. The manual: man attn-cli-" + command + ".\n"));
  }
  const std::string full = page("run --help", "80");
  std::size_t last = 0;
  for (const std::string heading : {"\nComputation:\n", "\nMask:\n", "\nModel:\n", "\nOutput:\n",
                                    "\nPictures:\n", "\nLimits:\n"}) {
    CAPTURE(heading);
    const std::size_t at = full.find(heading);
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
  CHECK(flags_in(full) > 60);
}

TEST_CASE("the group of limits has no other flags") {
  for (const std::string& command : commands) {
    const std::string full = page(command + " --help", "80");
    const std::size_t limits = full.find("\nLimits:\n");
    if (limits == std::string::npos) continue;
    std::istringstream lines(full.substr(limits));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  -")) continue;
      CAPTURE(command);
      CAPTURE(line);
      const bool limit = line.starts_with("  --max-") || line.starts_with("  --restrict ");
      CHECK(limit);
    }
  }
  CHECK(page("list --help", "80").find("--threads") == std::string::npos);
}
