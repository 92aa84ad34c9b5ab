#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/commands.hpp"

namespace attn::cli {

/// Page of `attn-cli COMMAND -h`: what it does, examples, and the flags that people use most. No
/// line is wider than `columns`.
std::string short_help(const Command& command, std::size_t columns);

/// Page of `attn-cli COMMAND --help`: all flags in their groups.
std::string full_help(const Command& command, std::size_t columns);

/// Lines that show how a command is called.
std::span<const std::string_view> examples_of(std::string_view command);

/// Headings of the groups of flags, in English, in the order of FlagGroup.
std::span<const char* const> group_headings();

/// Page of `attn-cli --help`: all commands.
std::string overview(std::span<const Command> commands, std::size_t columns);

}  // namespace attn::cli
