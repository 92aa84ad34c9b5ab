#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

/// The program that is tested: the one that was built, or what the environment's ATTN_TESTED names,
/// such as a script that runs it under a checker.
const char* tested_program();

/// How one run of attn-cli ended and what it printed.
struct Outcome {
  int exit_code = -1;
  std::string output, errors;
};

/// Runs attn-cli as its users do, in `folder`, with `input` as its standard input.
Outcome attn_cli(const std::vector<std::string>& arguments,
                 const std::filesystem::path& folder = ".", const std::string& input = "");

/// Runs a shell command in `folder`; the variable ATTN holds the program's path.
Outcome shell(const std::string& command, const std::filesystem::path& folder = ".");

/// Whether a program that a test needs is not there. Says so then, and CTest reports the test as
/// skipped.
bool is_missing(const std::string& program);

/// Width, height and pixels an inch of a PNG file's bytes; zeros if it is none.
struct PngHeader {
  std::size_t width = 0, height = 0;
  double dpi = 0;
};
PngHeader png_header(const std::string& bytes);
