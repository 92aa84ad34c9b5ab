#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/raw_array.hpp"
#include "tensor/block_numbers.hpp"

namespace attn {

/// True if the bytes start as a GGUF file.
bool looks_like_gguf(std::span<const std::byte> bytes) noexcept;

/// A GGUF file of version 2 or 3: keys with values, and tensors, whose numbers may be stored in
/// blocks of a few bits each (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
class Gguf {
 public:
  /// Reads keys and the list of tensors, and holds their places against the file and each other.
  /// Throws Error(input) at "byte N", the key or the tensor for other versions, for tensors that
  /// share bytes, and for what contradicts itself or ends too early.
  Gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  /// Names of the tensors in the order of the file.
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// Tensors of types that are not read.
  const std::vector<OtherMember>& others() const noexcept { return others_; }
  /// Sizes, outermost first.
  const Shape& shape(std::size_t index) const noexcept { return entries_[index].shape; }
  RawArray raw(std::size_t index) const;
  /// Throws as tensor_from() does.
  Tensor read(std::size_t index) const;
  std::string stored_type(std::size_t index) const;

  /// The names of all keys.
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const { return keys_.contains(key); }
  /// The value of a key; absent if there is none of that name. Numbers of any type are returned as
  /// doubles; float32 exactly. Throws Error(input) at the key for a value of another type.
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  /// The items of an array; empty if there is none of that name. A lone number is an array of one.
  /// Throws as the values of keys do.
  std::vector<std::string_view> texts(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;

 private:
  friend class GgufReader;

  enum class Type : std::uint32_t {
    uint8,
    int8,
    uint16,
    int16,
    uint32,
    int32,
    float32,
    boolean,
    text,
    array,
    uint64,
    int64,
    float64,
  };
  /// The bytes of a value, after its type; of an array after the type and the number of items.
  struct Value {
    Type type = Type::uint8;
    Type item = Type::uint8;  ///< of an array
    std::uint64_t count = 0;
    std::size_t at = 0;
  };
  struct Entry {
    Shape shape;
    ElementType type = ElementType::float32;
    std::optional<BlockType> blocks;
    std::span<const std::byte> bytes;
  };

  static bool is_number(Type type) noexcept;
  const Value* find(std::string_view key) const;
  [[noreturn]] void refuse(std::string_view key, const Value& value, const char* expected) const;
  double number_at(Type type, std::size_t at) const;

  std::map<std::string, Value, std::less<>> keys_;
  std::vector<std::string> names_;
  std::vector<Entry> entries_;
  std::vector<OtherMember> others_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  bool big_endian_ = false;
};

/// A later part of a GGUF file in parts.
struct GgufPart {
  std::filesystem::path path;
  Gguf file;
};

/// Opens the later parts of a GGUF file by the name of the first ("-00001-of-00003.gguf"); none if
/// the file is whole. Throws Error(file) or Error(input) that names the file: for a part in the
/// place of the first, a name that does not say which part it is, and parts that are missing,
/// belong to another file by their own keys ("split.no"…), or hold a tensor that is in a part
/// before.
std::vector<GgufPart> later_gguf_parts(const std::filesystem::path& path, const Gguf& first,
                                       const FileAccess& access);

/// Throws Error(input) if the file is one of several parts: what is read from memory has no others.
void refuse_gguf_part(const Gguf& file);

}  // namespace attn
