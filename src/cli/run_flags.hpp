#pragma once

#include "attn/run.hpp"

#include "cli/arguments.hpp"

namespace attn::cli {

/// What the flags of `run` and `batch` ask for of each document; the document itself is not looked
/// at. Throws Error(usage).
RunOptions run_options(const RunArguments& arguments);

}  // namespace attn::cli
