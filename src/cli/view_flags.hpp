#pragma once

#include "attn/view.hpp"

#include "cli/flags.hpp"

namespace attn::cli {

/// What a page keeps of the maps and how it colours them.
void add_view(Flags& flags, ViewOptions& options);

}  // namespace attn::cli
