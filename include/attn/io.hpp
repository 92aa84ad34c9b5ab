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

/// Member of a file of tensors that is none, or none that can be read.
struct OtherMember {
  std::string name;
  std::string reason;  ///< "complex numbers", "a value of argparse.Namespace"
  /// Its texts, which may be labels: one list, or one a sample. Null if it holds none; throws as
  /// TensorFile::read() does.
  std::function<std::vector<std::vector<std::string>>()> texts = nullptr;
  /// Whether it is a lone number, text or nothing, which no one takes for a tensor.
  bool plain = false;
};

/// File of tensors: .npy, .npz, .safetensors, .pt (PyTorch), a pickle, GGUF or JSON (a result, or
/// arrays).
/// The format is recognised by content, never by the name. The file is opened once and read as
/// often as needed; tensors refer to the mapped file where elements need no conversion.
///
/// Element types are widened, never narrowed: float16, bfloat16 and float32 become float32, float64
/// stays, integers become int64, booleans stay. Throws Error(file) if the file cannot be opened or
/// read, Error(input) naming the file and the byte or JSON pointer if it is malformed, truncated,
/// oversized or of an unknown format.
class TensorFile {
 public:
  /// `access` applies to the files that a result refers to as well.
  static TensorFile open(const std::filesystem::path& path, const FileAccess& access = {});

  /// A file that a document or a result in `folder` names: a regular file, and no standard input.
  static TensorFile open_named(const std::filesystem::path& folder, const std::string& name,
                               const FileAccess& access = {});

  /// Reads the bytes of a file that is open already, as open() reads the file: `path` ("-" =
  /// standard input) says where the files that it refers to and its later parts are. `owner` keeps
  /// the bytes alive.
  static TensorFile from_file(std::span<const std::byte> bytes,
                              const std::shared_ptr<const void>& owner,
                              const std::filesystem::path& path, const FileAccess& access = {});

  /// Reads bytes in memory, which cannot refer to files: one of several parts is refused. `name`
  /// stands for the path in errors, `owner` keeps the bytes alive.
  static TensorFile from_memory(std::span<const std::byte> bytes,
                                const std::shared_ptr<const void>& owner, std::string name,
                                const Limits& limits = {});

  /// One of formats().
  std::string_view format() const noexcept;

  /// Names of all formats that are recognised: "json", "npy"…
  static std::span<const std::string_view> formats() noexcept;

  /// Names of the tensors in the order of the file. A .npy file and a bare JSON array hold one
  /// tensor named "".
  const std::vector<std::string>& names() const noexcept;

  /// Members that are not tensors. read() of such a name throws Error(input) with the reason.
  const std::vector<OtherMember>& others() const noexcept;

  /// The tensor of this name, or the file's only tensor if the name is empty. Throws Error(input)
  /// with the nearest known name if there is none.
  Tensor read(std::string_view name) const;

  /// Type of the tensor's elements in the file, which read() may widen: "bfloat16", "int32"… JSON
  /// has the dtype of its result if that holds the numbers exactly, else float64.
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

/// Receives the bytes of a file, piece by piece.
using ByteSink = std::function<void(std::string_view)>;

/// Bytes of whole files; equal input gives equal bytes. Elements are read back bit for bit.
std::string npy_bytes(const Tensor& tensor);
void write_npy(const Tensor& tensor, const ByteSink& to);
std::string npz_bytes(std::span<const NamedTensor> tensors);
std::string safetensors_bytes(std::span<const NamedTensor> tensors);

/// Comma-separated values of a matrix [rows,columns], each in the shortest form that is read back
/// as the same number. Throws Error(input) for tensors of other ranks and without elements.
std::string csv_text(const Tensor& matrix);

enum class TensorFormat { json, npy, npz, safetensors, csv };

/// Format in which tensors of a result are written.
struct TensorFormatInfo {
  TensorFormat value;
  std::string_view name;  ///< and the extension of its files
  /// Content of one file: the result with its tensors, all tensors, one tensor, or one matrix of a
  /// tensor.
  enum class Unit { result, all, tensor, matrix } unit;
  /// Writes a file of one unit; null for Unit::result.
  void (*write)(std::span<const NamedTensor> tensors, const ByteSink& to);
};

/// All formats in the order of lists for users.
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
