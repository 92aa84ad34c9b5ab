#include "kernels/kernels_libraries.hpp"

#include <hwy/highway.h>

namespace attn {

std::string kernels_libraries() {
  return "highway " + std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." +
         std::to_string(HWY_PATCH);
}

}  // namespace attn
