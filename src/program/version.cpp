#include "attn/version.hpp"

#include "attn/catalogue.hpp"

#include "io/io_libraries.hpp"
#include "kernels/cpu_target.hpp"
#include "plot/canvas/plot_libraries.hpp"
#include "tokens/tokens_libraries.hpp"

namespace attn {

std::string version_text() {
  return "attn-cli " ATTN_VERSION "\nCPU target " + std::string(kernels::cpu_target()) +
         "\nlibraries: " + plot_libraries() + ", " + io_libraries() + ", " + tokens_libraries() +
         ", " + kernels::highway_version() + "\n";
}

}  // namespace attn
