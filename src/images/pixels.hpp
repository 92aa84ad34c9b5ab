#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attn {

/// A picture in eight bits: red, green and blue of each pixel, row by row.
struct Pixels {
  std::size_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;  ///< [height,width,3]
  /// Whether the file has 16-bit grey values beyond 255, which are cut off there.
  bool cut_off = false;
};

}  // namespace attn
