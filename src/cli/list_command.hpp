#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli list: prints what the program knows.
int list_command(const ListArguments& arguments);

}  // namespace attn::cli
