#include "plot/plot_libraries.hpp"

#include <cairo.h>
#include <pango/pango.h>

namespace attn {

std::string plot_libraries() {
  return std::string("cairo ") + cairo_version_string() + ", pango " + pango_version_string();
}

}  // namespace attn
