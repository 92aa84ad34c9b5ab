#pragma once

#include <span>
#include <string_view>

namespace attn::plot {

/// The colours of one map, 256 × 6 hexadecimal digits (RRGGBB).
struct ColourTable {
  std::string_view name;
  std::string_view colours;
  std::string_view reversed;  ///< of the map named with "_r"; empty: `colours` from the end
};

std::span<const ColourTable> colour_tables();

}  // namespace attn::plot
