#pragma once

#include <string>
#include <vector>

#include "cli/flags.hpp"

namespace attn::cli {

/// The words joined so that a POSIX shell reads them as they are.
std::string shell_line(const std::vector<std::string>& words);

/// Flags as they were given, with their values.
struct FlagWords {
  std::vector<std::string> words;
};

/// Lets the flags write down what they are given. `to` must outlive them.
void record(Flags& flags, FlagWords& to);

}  // namespace attn::cli
