#pragma once

#include <cstdint>
#include <string>
#include <vector>

// Bytes of small GGUF files.

namespace attn::gguf_bytes {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string text(const std::string& characters) {
  return raw(std::uint64_t{characters.size()}) + characters;
}

inline std::string tensor(const std::string& name, const std::vector<std::uint64_t>& lengths,
                          std::uint32_t type, std::uint64_t offset) {
  std::string bytes = text(name) + raw(static_cast<std::uint32_t>(lengths.size()));
  for (const std::uint64_t length : lengths) bytes += raw(length);
  return bytes + raw(type) + raw(offset);
}

// A file of these keys and tensors, with 128 bytes of numbers.
inline std::string file_of(const std::vector<std::string>& tensors,
                           const std::vector<std::string>& keys = {}, std::uint32_t version = 3) {
  std::string bytes =
      "GGUF" + raw(version) + raw(std::uint64_t{tensors.size()}) + raw(std::uint64_t{keys.size()});
  for (const std::string& key : keys) bytes += key;
  for (const std::string& one : tensors) bytes += one;
  bytes.resize((bytes.size() + 31) / 32 * 32);
  for (int i = 0; i < 32; ++i) bytes += raw(static_cast<float>(i));
  return bytes;
}

// The keys by which a part says that it is part `number`, from 0, of `count`, which have so many
// tensors together.
inline std::vector<std::string> split_keys(std::uint16_t number, std::uint16_t count,
                                           std::int32_t tensors) {
  return {text("split.no") + raw(2U) + raw(number), text("split.count") + raw(2U) + raw(count),
          text("split.tensors.count") + raw(5U) + raw(tensors)};
}

}  // namespace attn::gguf_bytes
