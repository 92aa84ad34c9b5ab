#pragma once

/// The version of library and program. CMakeLists.txt reads it from this line.
#define ATTN_VERSION "0.1.0"
