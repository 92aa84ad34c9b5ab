#pragma once

#include <span>
#include <string_view>

namespace attn::cli {

/// Flags of other programs, and the advice to whoever gives them.
struct ForeignFlags {
  std::string_view names;  ///< with spaces between, hyphens for underscores
  std::string_view of;     ///< commands that get the advice, with bars between, or a flag that they
                           ///< take; empty: all
  std::string_view help;
};

/// Rows that only some commands get: they come before those of foreign_flags.cpp.
std::span<const ForeignFlags> foreign_flags_of_commands() noexcept;

}  // namespace attn::cli
