#include "plot/libraries/drawing_libraries.hpp"

namespace attn {

constinit const LateLibrary pango_library{ATTN_DRAWING_LIBRARY, "Pango"};

constinit const LateLibrary sixel{"libsixel.so.1", "libsixel"};

}  // namespace attn
