#pragma once

#include <string>

namespace attn {

/// The libraries of this layer with their versions: "utf8proc 2.8.0".
std::string tokens_libraries();

}  // namespace attn
