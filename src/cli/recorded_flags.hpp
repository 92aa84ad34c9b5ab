#pragma once

#include <string>
#include <vector>

#include "cli/flags.hpp"

namespace attn::cli {

/// Lets the flags write down their names and what they are given. `words` must outlive them.
void record(Flags& flags, std::vector<std::string>& words);

}  // namespace attn::cli
