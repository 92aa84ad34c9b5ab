#pragma once

#include <string>

namespace attn {

/// The libraries of this layer with their versions: "cairo 1.16.0, pango 1.50.12".
std::string plot_libraries();

}  // namespace attn
