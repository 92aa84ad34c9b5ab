#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli compare: prints how the tensors of two files differ. Returns 0 if they agree, 1
/// otherwise.
int compare_command(const CompareArguments& arguments);

}  // namespace attn::cli
