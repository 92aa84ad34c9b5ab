#pragma once

#include <string>
#include <vector>

namespace attn {

/// The words joined so that a POSIX shell reads them as they are.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace attn
