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

/// Page of `attn-cli --help`: all commands.
std::string overview(std::span<const Command> commands, std::size_t columns);

}  // namespace attn::cli
