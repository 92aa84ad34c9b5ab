#pragma once

#include <string>
#include <string_view>

namespace attn {

/// Bytes as base64 (RFC 4648, section 4).
std::string base64(std::string_view bytes);

}  // namespace attn
