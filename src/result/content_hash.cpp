#include "result/content_hash.hpp"

#include <xxhash.h>

#include "support/number_text.hpp"

namespace attn {

std::string content_hash(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return hexadecimal(hash.high64, 16) + hexadecimal(hash.low64, 16);
}

}  // namespace attn
