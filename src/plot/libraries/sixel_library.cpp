#include "plot/libraries/sixel_library.hpp"

namespace attn {

constinit const LateLibrary sixel{"libsixel.so.1", "libsixel"};

}  // namespace attn
