#pragma once

#include <string>

namespace attn {

/// The libraries of this layer with their versions: "highway 1.0.3".
std::string kernels_libraries();

}  // namespace attn
