#include "plot/libraries/drawing_libraries.hpp"

namespace attn {

constinit const LateLibrary drawing{ATTN_DRAWING_LIBRARY, "Pango"};

}  // namespace attn
