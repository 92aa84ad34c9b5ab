#pragma once

#include <string>
#include <string_view>

namespace attn {

/// A raw deflate stream of the bytes, as base64 (RFC 4648, section 4). Equal bytes give equal text.
std::string packed_block(std::string_view bytes);

std::string base64(std::string_view bytes);

}  // namespace attn
