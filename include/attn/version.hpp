#pragma once

#include <string>

namespace attn {

/// The program's version, the CPU target in use and the libraries with theirs, a line each.
std::string version_text();

}  // namespace attn
