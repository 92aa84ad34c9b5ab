#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "support/mapped_file.hpp"
#include "tensor/torch_random.hpp"

namespace attn {

/// Turns each form of a tensor in a document into a Tensor: nested arrays, shape and data, files,
/// constants and PyTorch's random numbers. Random tensors are drawn from one generator in the order
/// of the calls.
class TensorSource {
 public:
  /// File names are relative to `folder`.
  explicit TensorSource(std::filesystem::path folder, FileAccess access = {})
      : folder_(std::move(folder)), access_(std::move(access)) {}

  /// Starts the generator that random tensors without a seed of their own draw from.
  void seed(std::int64_t seed);

  /// `pointer` is the JSON pointer of the value. Throws Error(input) below it, or Error(file)
  /// naming the file.
  Tensor read(const JsonValue& value, DType dtype, const std::string& pointer);

  /// The document's generator. Throws Error(input) at `pointer` if there is no seed; `drawn` is
  /// what needs it.
  TorchRandom& generator(const std::string& pointer, const std::string& drawn = "a random tensor");

  /// Throws Error(input) at `pointer` if a tensor may not have so many elements.
  void check_elements(double count, const std::string& what, const std::string& pointer) const;

  /// Where a file that the document names is.
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  /// The file's bytes.
  std::shared_ptr<const MappedFile> bytes(const std::string& name) const {
    return MappedFile::open(path(name), access_);
  }

  /// A file of tensors, opened once however often it is named.
  const TensorFile& file(const std::string& name);

 private:
  Tensor made(const JsonValue& value, std::string_view form, DType dtype,
              const std::string& pointer);

  std::filesystem::path folder_;
  FileAccess access_;
  std::optional<TorchRandom> random_;
  std::map<std::string, TensorFile> files_;
  std::size_t made_ = 0;  // elements of all tensors that were made, none of them read
};

/// Throws Error(input) at `where` if a tensor has more elements than Limits::elements allows.
void check_element_limit(std::size_t count, std::uint64_t most, const std::string& where);

/// The generator torch.manual_seed(seed) starts; negative seeds count down from 2⁶⁴ as there.
TorchRandom torch_manual_seed(std::int64_t seed);

/// The tensor as `dtype`, or Error(input) at `pointer` if a number does not fit (beyond the range
/// of a float32, no integer, or no 0 or 1 for a boolean) or the whole does not fit into memory.
Tensor checked_conversion(const Tensor& tensor, DType dtype, const std::string& pointer);

}  // namespace attn
