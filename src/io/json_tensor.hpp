#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/hashed_files.hpp"
#include "io/json_value.hpp"

namespace attn {

/// True if a value can be a tensor by its first element; false for arrays of names.
bool looks_like_tensor(const JsonValue& value);

/// Reads a tensor by its name, which may be empty, from a file by its name.
using OpenTensor = std::function<Tensor(const std::string& file, const std::string& name)>;

/// Tensor of a document, a result or a file of tensors. Tensors of other files keep their dtype,
/// all others have `dtype`. Forms:
/// * nested arrays of numbers, all rows of one length. The strings "inf", "-inf" and "nan" stand
/// for
///   those floats; booleans are 1 and 0. With DType::boolean only true, false, 1 and 0 are taken,
///   with DType::int64 only integers;
/// * {"shape":…,"data":…}, a flat array of such numbers in row-major order;
/// * {"file":…,"name":…}, read by `open`, beside which "shape" and "dtype" may say, as a result of
///   this program does, what tensor stands there.
///
/// Throws Error(input) at the JSON pointer (starting with `pointer`, the value's own) of the first
/// row of another length, of an element that is no number, of a number beyond the range of `dtype`,
/// of an axis of size 0, or of a value that is no tensor.
Tensor tensor_from_json(const JsonValue& value, DType dtype, const std::string& pointer,
                        const OpenTensor& open = nullptr);

/// Array of at most 32 whole numbers from `least` to 2^53. Throws Error(input) at the JSON pointer
/// of anything else; `pointer` is the array's own.
std::vector<std::size_t> sizes_from_json(const JsonValue& value, std::int64_t least,
                                         const std::string& pointer);

/// Array of sizes from 1 whose product memory can address; throws as sizes_from_json() does.
Shape shape_from_json(const JsonValue& value, const std::string& pointer);

/// True if the bytes begin with an object or an array of JSON, after white space or none.
bool looks_like_json(std::span<const std::byte> bytes) noexcept;

/// Tensors of a JSON text: the "tensors" of a result of this program, one nested array, one
/// {"shape":…,"data":…}, or objects and arrays of such, named by their path. Numbers are read as
/// float64, or as float32 in a result with "dtype":"float32". NaN, Infinity and -Infinity, as
/// Python writes them, are read too.
class JsonTensorFile {
 public:
  /// `owner` keeps the text alive. Throws Error(input) if the text is no JSON, is nested deeper
  /// than `depth`, holds nothing of these, or is a result that is unfinished.
  JsonTensorFile(std::string_view text, std::shared_ptr<const void> owner,
                 std::size_t depth = JsonOptions{}.depth);

  /// Names in the order of the text.
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// Members that are not tensors; none of a result of this program.
  const std::vector<OtherMember>& others() const noexcept { return others_; }

  /// Throws Error(input) at a JSON pointer, as tensor_from_json() does.
  Tensor read(std::size_t index, const OpenTensor& open) const;

  /// The files that the text, as a result, was written with.
  const ResultFiles& files() const noexcept { return files_; }

  /// Type of a tensor that was read: the result's 16-bit dtype if it holds the numbers exactly.
  DType stored_type(const Tensor& read) const;

 private:
  std::unique_ptr<const JsonValue> root_;
  DType dtype_ = DType::float64;
  std::optional<DType> half_;
  ResultFiles files_;
  std::vector<std::string> names_, pointers_;
  std::vector<const JsonValue*> values_;  // in *root_
  std::vector<OtherMember> others_;
};

}  // namespace attn
