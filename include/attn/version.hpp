#pragma once

/// The one place that states it; CMakeLists.txt reads it here.
#define ATTN_VERSION "0.1.0"

#include <string>

namespace attn {

/// The program's version, the CPU target in use and the libraries with theirs, a line each.
std::string version_text();

}  // namespace attn
