#pragma once

#include <chrono>

namespace attn {

/// Seconds that have passed since then. Apart from other headers, as <chrono> takes long to
/// compile.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace attn
