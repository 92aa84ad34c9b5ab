#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/raw_array.hpp"

namespace attn {

class JsonValue;

/// True if the bytes start like a .safetensors file, whole or cut off.
bool looks_like_safetensors(std::span<const std::byte> bytes) noexcept;

/// First bytes of safetensors_bytes(), before the elements. Reads names, shapes and types only.
std::string safetensors_header(std::span<const NamedTensor> tensors);

/// A .safetensors file: eight bytes with the length of the JSON header, the header, and the
/// elements of all tensors (https://huggingface.co/docs/safetensors). Numbers of eight bits with
/// scales for blocks (`W`, `W_scale_inv`) and of four bits (`X_blocks`, `X_scales`) are one tensor,
/// `W` and `X`, with the scales applied.
class Safetensors {
 public:
  /// Checks the whole header: offsets must match shapes, be in range, and cover the data without
  /// overlap or gap. Throws Error(input) whose place is a byte or "header, " and a JSON pointer.
  Safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

  /// Names in the order of the header.
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// Tensors of types that are not read and without numbers, and texts of the metadata.
  const std::vector<OtherMember>& others() const noexcept { return others_; }

  const Shape& shape(std::size_t index) const noexcept { return entries_[index].shape; }

  /// Elements as they are stored.
  RawArray raw(std::size_t index) const;
  /// Throws as tensor_from() does.
  Tensor read(std::size_t index) const;
  std::string stored_type(std::size_t index) const;

 private:
  struct Entry {
    std::string dtype;
    Shape shape;
    std::size_t begin = 0, end = 0;       // in data_
    std::shared_ptr<const Entry> scales;  // absent without
  };

  Entry entry_of(const JsonValue& tensor, const std::string& name) const;
  void add_metadata(const JsonValue& metadata);
  void check_coverage(std::size_t data_begin) const;
  void join_scales();
  void set_others_aside();
  static bool is_four_bits(const Entry* blocks, const Entry* scales);
  static void check_block_scales(const Entry& numbers, const Entry& scales,
                                 const std::string& name);
  RawArray with_scales(const Entry& entry) const;

  std::vector<std::string> names_;
  std::vector<Entry> entries_;
  std::vector<OtherMember> others_;
  std::span<const std::byte> data_;
  std::shared_ptr<const void> owner_;
};

}  // namespace attn
