#pragma once

/// The version of the library and of the program. CMakeLists.txt reads it from here.
#define ATTN_VERSION "0.1.0"
