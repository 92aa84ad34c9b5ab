#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// A file of tensors: .npy, .npz, .safetensors, or JSON (a result of this program, or nested
/// arrays). The format is recognised by content, never by the name. Opened once, read as often as
/// needed; memory-mapped where the elements need no conversion.
///
/// Element types are widened, never narrowed: float16, bfloat16 and float32 become float32, float64
/// stays, integers become int64, booleans stay. Throws Error(file) if the file cannot be opened or
/// read, Error(input) naming the file and the byte or JSON pointer if it is malformed, truncated,
/// oversized or of an unknown format.
class TensorFile {
 public:
  /// `access` also rules the files that a result refers to.
  static TensorFile open(const std::filesystem::path& path, const FileAccess& access = {});

  /// The same from memory, which can refer to no file; `name` stands for the path in errors,
  /// `owner` keeps the bytes alive.
  static TensorFile from_memory(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                std::string name, const Limits& limits = {});

  /// "npy", "npz", "safetensors" or "json".
  std::string_view format() const noexcept;

  /// In the order of the file; a .npy file and a bare JSON array hold one tensor named "".
  const std::vector<std::string>& names() const noexcept;

  /// Throws Error(input) with the nearest known name if there is none of that name. An empty name
  /// takes the only tensor of the file.
  Tensor read(std::string_view name) const;

  class Content;

 private:
  explicit TensorFile(std::shared_ptr<const Content> content);
  std::shared_ptr<const Content> content_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Whole files as bytes, equal for equal input. All that is written can be read back bit for bit.
std::string npy_bytes(const Tensor& tensor);
std::string npz_bytes(std::span<const NamedTensor> tensors);
std::string safetensors_bytes(std::span<const NamedTensor> tensors);

/// One matrix [rows, columns] as comma-separated values, each in the shortest form that reads back
/// the same. Throws Error(input) for what is no matrix.
std::string csv_text(const Tensor& matrix);

}  // namespace attn
