#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

#include "io/json_tensor.hpp"
#include "io/json_value.hpp"

namespace attn {

/// Whether the file is JSON by its first bytes: an object or an array, behind white space or not.
bool looks_like_json(std::span<const std::byte> bytes) noexcept;

/// The tensors of a JSON text: a result of this program (its "tensors"), nested arrays alone,
/// {"shape":…,"data":…} alone, or an object some of whose members are either; its other members are
/// ignored. Numbers are read as float64, those of a result that says "dtype":"float32" as float32.
class JsonTensorFile {
 public:
  static constexpr std::string_view format_name = "json";

  /// `owner` keeps the text alive. Throws Error(input) if the text is no JSON, is nested deeper
  /// than `depth`, or holds nothing of these.
  JsonTensorFile(std::string_view text, std::shared_ptr<const void> owner,
                 std::size_t depth = JsonOptions{}.depth);

  /// In the order of the text.
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// Throws Error(input) at the JSON pointer of what is wrong.
  Tensor read(std::size_t index, const OpenTensor& open) const;

  /// What was read, inside the text: the narrow type of the result if it holds the numbers.
  DType stored_type(const Tensor& read) const;

 private:
  std::unique_ptr<const JsonValue> root_;
  DType dtype_ = DType::float64;
  std::optional<DType> narrow_;
  std::vector<std::string> names_, pointers_;
  std::vector<const JsonValue*> values_;  // in *root_
};

}  // namespace attn
