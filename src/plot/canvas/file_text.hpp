#pragma once

#include <string>

#include "attn/version.hpp"

namespace attn::plot {

/// What a file says of itself: SVG and PDF all of it, PNG its provenance. Empty texts are left out.
struct FileText {
  std::string title, description, provenance;
};

/// The program that made it.
inline constexpr const char* maker = "attn-cli " ATTN_VERSION;

}  // namespace attn::plot
