#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli schema: prints the JSON Schema of input documents.
int schema_command(const NoArguments& arguments);

}  // namespace attn::cli
