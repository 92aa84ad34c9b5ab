#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn {

/// 32 hexadecimal digits that tell bytes apart (XXH3, 128 bits).
std::string content_hash(std::span<const std::byte> bytes);

}  // namespace attn
