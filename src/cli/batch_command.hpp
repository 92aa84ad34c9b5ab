#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli batch: computes many documents, or joins the summaries of a batch's shards. Returns the
/// exit code.
int batch_command(const BatchArguments& arguments);

}  // namespace attn::cli
