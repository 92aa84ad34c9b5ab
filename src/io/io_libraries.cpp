#include "io/io_libraries.hpp"

#include <nlohmann/json.hpp>
#include <zip.h>

namespace attn {

std::string io_libraries() {
  return std::string("libzip ") + zip_libzip_version() + ", nlohmann-json " +
         std::to_string(NLOHMANN_JSON_VERSION_MAJOR) + "." +
         std::to_string(NLOHMANN_JSON_VERSION_MINOR) + "." +
         std::to_string(NLOHMANN_JSON_VERSION_PATCH);
}

}  // namespace attn
