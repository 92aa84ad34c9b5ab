#pragma once

#include "attn/run.hpp"

#include "cli/flags.hpp"

namespace attn::cli {

/// What is made of a document, whether of one or of many.
void add_results(Flags& flags, RunOptions& options);

}  // namespace attn::cli
