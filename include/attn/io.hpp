#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
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

  /// One of formats().
  std::string_view format() const noexcept;

  /// The names of the formats that are recognised: "json", "npy"…
  static std::span<const std::string_view> formats() noexcept;

  /// In the order of the file; a .npy file and a bare JSON array hold one tensor named "".
  const std::vector<std::string>& names() const noexcept;

  /// Throws Error(input) with the nearest known name if there is none of that name. An empty name
  /// takes the only tensor of the file.
  Tensor read(std::string_view name) const;

  /// The type that the file holds it in, which read() may widen: "bfloat16", "int32"… Numbers of
  /// JSON have that of their result, if it holds them, else float64.
  std::string stored_type(std::string_view name) const;

  class Content;

 private:
  explicit TensorFile(std::shared_ptr<const Content> content);
  std::shared_ptr<const Content> content_;
};

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Takes the bytes of a file, piece by piece.
using ByteSink = std::function<void(std::string_view)>;

/// Whole files as bytes, equal for equal input. All that is written can be read back bit for bit.
std::string npy_bytes(const Tensor& tensor);
void write_npy(const Tensor& tensor, const ByteSink& to);
std::string npz_bytes(std::span<const NamedTensor> tensors);
std::string safetensors_bytes(std::span<const NamedTensor> tensors);

/// One matrix [rows, columns] as comma-separated values, each in the shortest form that reads back
/// the same. Throws Error(input) for what is no matrix.
std::string csv_text(const Tensor& matrix);

enum class TensorFormat { json, npy, npz, safetensors, csv };

/// A format that the tensors of a result are written in.
struct TensorFormatInfo {
  TensorFormat value;
  std::string_view name;  ///< and the extension of its files
  /// What stands in one file: the result with its tensors, all tensors, one of them, or a matrix of
  /// one.
  enum class Unit { result, all, tensor, matrix } unit;
  /// Writes a file of one unit; null for those of the result.
  void (*write)(std::span<const NamedTensor> tensors, const ByteSink& to);
};

/// All of them, in the order they are listed to users.
inline std::span<const TensorFormatInfo> tensor_formats() noexcept {
  using Unit = TensorFormatInfo::Unit;
  using Tensors = std::span<const NamedTensor>;
  static constexpr auto formats = std::to_array<TensorFormatInfo>({
      {TensorFormat::json, "json", Unit::result, nullptr},
      {TensorFormat::npy, "npy", Unit::tensor,
       [](Tensors tensors, const ByteSink& to) { write_npy(tensors[0].tensor, to); }},
      {TensorFormat::npz, "npz", Unit::all,
       [](Tensors tensors, const ByteSink& to) { to(npz_bytes(tensors)); }},
      {TensorFormat::safetensors, "safetensors", Unit::all,
       [](Tensors tensors, const ByteSink& to) { to(safetensors_bytes(tensors)); }},
      {TensorFormat::csv, "csv", Unit::matrix,
       [](Tensors tensors, const ByteSink& to) { to(csv_text(tensors[0].tensor)); }},
  });
  return formats;
}

}  // namespace attn
