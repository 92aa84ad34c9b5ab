#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace attn {

/// Hash of bytes: XXH3 of 128 bits as 32 hexadecimal digits, as `xxh128sum` prints it.
std::string content_hash(std::span<const std::byte> bytes);

/// The hash of bytes that come in pieces.
class ContentHash {
 public:
  ContentHash();
  void add(std::string_view piece);
  /// content_hash() of all pieces so far.
  std::string text() const;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const noexcept;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace attn
