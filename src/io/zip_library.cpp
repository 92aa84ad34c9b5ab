#include "io/zip_library.hpp"

namespace attn {

constinit const LateLibrary zip_library{ATTN_ZIP_LIBRARY, "libzip"};

}  // namespace attn
