#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"
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

  /// Begins the reading of a plan: no generator, no element counted; what was read for another plan
  /// of the same document need not be read again. When sketching, what is to be made or drawn comes
  /// as shape_only(), unless it is made of so few elements that it does not matter.
  void start(bool sketching);
  bool sketching() const noexcept { return sketching_; }

  /// Starts the generator that random tensors without a seed of their own draw from.
  void seed(std::int64_t seed);

  /// `pointer` is the JSON pointer of the value. Throws Error(input) below it, or Error(file)
  /// naming the file.
  Tensor read(const JsonValue& value, DType dtype, const std::string& pointer);

  /// The document's generator. Throws Error(input) at `pointer` if there is no seed; `drawn` is
  /// what needs it.
  TorchRandom& generator(const std::string& pointer,
                         const std::string& drawn = translated("a random tensor"));

  /// Throws Error(input) at `pointer` if a tensor may not have so many elements.
  void check_elements(double count, const std::string& what, const std::string& pointer) const;

  /// A tensor of that shape which is drawn or computed from what was read, or when sketching its
  /// shape alone. `pointer` is where an Error(input) puts a shape that no memory could hold.
  Tensor drawn(const Shape& shape, DType dtype, const std::string& pointer,
               const std::function<Tensor()>& draw);

  /// Counts elements that are made of others.
  void add_made(double elements) noexcept { made_ += elements; }

  /// A tensor of a file as `dtype`. Errors of its numbers are put at its name.
  Tensor read_from(const std::string& file, const std::string& name, DType dtype);

  /// The types of the tensors that the document names in files, by the keys of the document, where
  /// they are not the one that is computed in.
  const std::vector<std::pair<std::string, std::string>>& file_types() const noexcept {
    return file_types_;
  }

  /// Elements that were read, made or drawn since the start, and those that were made or drawn.
  double read_elements() const noexcept { return read_ + made_; }
  double made_elements() const noexcept { return made_; }

  /// Where a file that the document names is.
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  /// The file's bytes.
  std::shared_ptr<const MappedFile> bytes(const std::string& name);

  /// A file of tensors, opened once however often it is named.
  const TensorFile& file(const std::string& name);

 private:
  Tensor made(const JsonValue& value, std::string_view form, DType dtype,
              const std::string& pointer);

  void note_type(const std::string& type, DType dtype, const std::string& pointer);
  Tensor once(const std::string& key, const std::string& pointer,
              const std::function<Tensor()>& read, DType dtype, const std::string& conversion);

  std::filesystem::path folder_;
  FileAccess access_;
  std::optional<TorchRandom> random_;
  std::map<std::string, TensorFile> files_;
  std::map<std::string, std::shared_ptr<const MappedFile>> bytes_;
  std::map<std::string, Tensor> tensors_;  // by pointer, or file and name
  std::vector<std::pair<std::string, std::string>> file_types_;
  double made_ = 0, read_ = 0;  // elements since the start
  bool sketching_ = false, keeps_ = false;
};

/// Throws Error(input) at `where` if a tensor has more elements than Limits::elements allows.
void check_element_limit(std::size_t count, std::uint64_t most, const std::string& where);

/// The generator torch.manual_seed(seed) starts; negative seeds count down from 2⁶⁴ as there.
TorchRandom torch_manual_seed(std::int64_t seed);

/// The tensor as `dtype`, or Error(input) at `pointer` if a number does not fit (beyond the range
/// of a float32, no integer, or no 0 or 1 for a boolean) or the whole does not fit into memory.
Tensor checked_conversion(const Tensor& tensor, DType dtype, const std::string& pointer);

}  // namespace attn
