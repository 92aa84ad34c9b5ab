#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attn::cli {

/// Takes the numbers of standard streams that the program was started without, so that no file that
/// is opened later gets one of them, and with it what is printed. They stay unusable.
void occupy_closed_streams() noexcept;

/// Prints to standard output. A reader that has gone away ends the printing silently; any other
/// failure is an Error(file).
void print(std::string_view text);

/// "warning: …" lines on standard error, with flags in place of options' fields.
void warn(const std::vector<std::string>& warnings);

/// The text as it is on standard error.
void show(std::string_view text) noexcept;

/// "attn-cli: …" on standard error.
void complain(std::string_view text) noexcept;

}  // namespace attn::cli
