#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "attn/error.hpp"

namespace attn::fuzz {

/// The bytes in a block of their own of exactly that size, so that reading beyond it is found, and
/// aligned as a mapped file is.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : block_(static_cast<std::byte*>(std::malloc(size == 0 ? 1 : size)), std::free), size_(size) {
    if (size > 0) std::memcpy(block_.get(), data, size);
  }

  std::span<const std::byte> bytes() const { return {block_.get(), size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(block_.get()), size_}; }
  std::shared_ptr<const void> owner() const { return block_; }

 private:
  std::shared_ptr<std::byte> block_;
  std::size_t size_;
};

/// Calls use(), which may refuse its input with any Error but one of the library's own making.
template <class Use>
void accept_refusals(const Use& use) {
  try {
    use();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) std::abort();
  }
}

/// Ends the program, as a fuzzer notices, unless it holds.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace attn::fuzz
