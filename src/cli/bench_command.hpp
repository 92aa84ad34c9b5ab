#pragma once

#include "cli/arguments.hpp"

namespace attn::cli {

/// attn-cli bench: times attentions on random tensors and prints one line each.
int bench_command(const BenchArguments& arguments);

}  // namespace attn::cli
