#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// Messages of protobuf (protobuf.dev/programming-guides/encoding), read field by field.

namespace attn {

/// Takes a number of seven bits per byte, the lowest first; absent if it does not end.
inline std::optional<std::uint64_t> take_proto_number(std::string_view& bytes) {
  constexpr unsigned int most_bits = 64;
  std::uint64_t number = 0;
  for (unsigned int bits = 0; !bytes.empty() && bits < most_bits; bits += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << bits;
    if ((byte & 0x80U) == 0) return number;
  }
  return std::nullopt;
}

/// A field of a message.
struct ProtoField {
  enum Type : std::uint32_t { varying = 0, eight_bytes = 1, with_length = 2, four_bytes = 5 };
  std::uint32_t number = 0;
  std::uint32_t type = 0;
  std::uint64_t value = 0;   ///< of a varying number
  std::string_view content;  ///< of other types
  std::string_view bytes;    ///< all of it
};

/// Takes the next field of a message that is not empty; absent if it is malformed.
inline std::optional<ProtoField> take_proto_field(std::string_view& message) {
  const std::string_view all = message;
  const auto tag = take_proto_number(message);
  if (!tag || *tag >> 3U == 0 || *tag >> 3U > 0x1FFFFFFF) return std::nullopt;
  ProtoField field;
  field.number = static_cast<std::uint32_t>(*tag >> 3U);
  field.type = static_cast<std::uint32_t>(*tag & 7U);
  std::uint64_t length = 0;
  if (field.type == ProtoField::varying || field.type == ProtoField::with_length) {
    const auto number = take_proto_number(message);
    if (!number) return std::nullopt;
    (field.type == ProtoField::varying ? field.value : length) = *number;
  } else if (field.type == ProtoField::eight_bytes || field.type == ProtoField::four_bytes) {
    length = field.type == ProtoField::eight_bytes ? 8 : 4;
  } else {
    return std::nullopt;
  }
  if (length > message.size()) return std::nullopt;
  field.content = message.substr(0, length);
  message.remove_prefix(length);
  field.bytes = all.substr(0, all.size() - message.size());
  return field;
}

}  // namespace attn
