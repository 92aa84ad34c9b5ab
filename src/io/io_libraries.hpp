#pragma once

#include <string>

namespace attn {

/// The libraries of this layer with their versions: "libzip 1.7.3, nlohmann-json 3.11.2".
std::string io_libraries();

}  // namespace attn
