#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

/// The program to test: the one that was built, or the one that the variable ATTN_TESTED names,
/// such as a script that runs it under a checker.
const char* tested_program();

/// Exit code and output of one run of attn-cli.
struct Outcome {
  int exit_code = -1;
  std::string output, errors;
};

/// Runs attn-cli as its users do, in `folder`, with `input` as its standard input.
Outcome attn_cli(const std::vector<std::string>& arguments,
                 const std::filesystem::path& folder = ".", const std::string& input = "");

/// What a run that is refused writes to standard error. It must end with `exit_code` and write
/// nothing to standard output, with --json its error alone.
std::string refused_with(int exit_code, const std::vector<std::string>& arguments,
                         const std::filesystem::path& folder = ".", const std::string& input = "");

/// Runs a shell command in `folder`; the variable ATTN holds the program's path.
Outcome shell(const std::string& command, const std::filesystem::path& folder = ".");

/// Whether a program that a test needs is missing. If so, prints a line by which CTest reports the
/// test as skipped.
bool is_missing(const std::string& program);

/// Width, height and pixels an inch of a PNG file's bytes; zeros if it is none.
struct PngHeader {
  std::size_t width = 0, height = 0;
  double dpi = 0;
};
PngHeader png_header(const std::string& bytes);
