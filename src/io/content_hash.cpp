#include "io/content_hash.hpp"

#include <new>

#include <xxhash.h>

#include "support/number_text.hpp"

namespace attn {
namespace {

std::string text_of(const XXH128_hash_t& hash) {
  return hexadecimal(hash.high64, 16) + hexadecimal(hash.low64, 16);
}

}  // namespace

std::string content_hash(std::span<const std::byte> bytes) {
  return text_of(XXH3_128bits(bytes.data(), bytes.size()));
}

void ContentHash::Free::operator()(XXH3_state_s* state) const noexcept {
  XXH3_freeState(state);
}

ContentHash::ContentHash() : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_128bits_reset(state_.get());
}

void ContentHash::add(std::string_view piece) {
  XXH3_128bits_update(state_.get(), piece.data(), piece.size());
}

std::string ContentHash::text() const {
  return text_of(XXH3_128bits_digest(state_.get()));
}

}  // namespace attn
