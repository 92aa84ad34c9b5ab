#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli example: prints a document of one kind.
int example_command(const ExampleArguments& arguments);

}  // namespace attn::cli
