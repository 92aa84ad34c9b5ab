#pragma once

#include <span>
#include <string_view>

namespace attn::plot {

/// The colours of one map, 6 hexadecimal digits each (RRGGBB): all 256, or the few that stand at
/// equal distances and between which the others lie evenly.
struct ColourTable {
  std::string_view name;
  std::string_view colours;
  std::string_view reversed;  ///< of the map named with "_r"; empty: `colours` from the end
};

std::span<const ColourTable> colour_tables();

}  // namespace attn::plot
