#include "cli/program.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <doctest/doctest.h>
#include <sys/wait.h>

#include "temporary_folder.hpp"

namespace {

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::size_t big_endian(const std::string& bytes, std::size_t at) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

}  // namespace

const char* tested_program() {
  const char* named = std::getenv("ATTN_TESTED");
  return named != nullptr ? named : ATTN_CLI;
}

Outcome shell(const std::string& command, const std::filesystem::path& folder) {
  const TemporaryFolder captured;
  const std::string line = "cd " + quoted(folder) + " && export ATTN=" + quoted(tested_program()) +
                           " && { " + command + "\n} >" + quoted(captured / "output") + " 2>" +
                           quoted(captured / "errors");
  const int status = std::system(line.c_str());  // NOLINT: tests run the program as a shell does
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          read_text(captured / "output"), read_text(captured / "errors")};
}

Outcome attn_cli(const std::vector<std::string>& arguments, const std::filesystem::path& folder,
                 const std::string& input) {
  const TemporaryFolder holder;
  std::string command = "\"$ATTN\"";
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  return shell(command + " <" + quoted(holder.write("input", input)), folder);
}

std::string refused_with(int exit_code, const std::vector<std::string>& arguments,
                         const std::filesystem::path& folder, const std::string& input) {
  const Outcome outcome = attn_cli(arguments, folder, input);
  CHECK(outcome.exit_code == exit_code);
  if (std::find(arguments.begin(), arguments.end(), "--json") == arguments.end()) {
    CHECK(outcome.output == "");
  } else {
    CHECK(outcome.output.starts_with(R"({"error": )"));
  }
  return outcome.errors;
}

bool is_missing(const std::string& program) {
  if (shell("command -v " + program + " >/dev/null").exit_code == 0) return false;
  MESSAGE("left out: " << program << " is not installed");
  return true;
}

PngHeader png_header(const std::string& bytes) {
  if (!bytes.starts_with("\x89PNG\r\n\x1a\n") || bytes.size() < 33) return {};
  PngHeader header{big_endian(bytes, 16), big_endian(bytes, 20), 0};
  const std::size_t physical = bytes.find("pHYs");
  if (physical != std::string::npos) {
    constexpr double inch = 0.0254;  // metres
    header.dpi = std::round(static_cast<double>(big_endian(bytes, physical + 4)) * inch);
  }
  return header;
}
