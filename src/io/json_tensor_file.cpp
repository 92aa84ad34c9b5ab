#include "io/json_tensor_file.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "io/safetensors.hpp"
#include "support/translated.hpp"
#include "tensor/narrow_number.hpp"

namespace attn {
namespace {

constexpr const char* help = to_translate(
    "a file of tensors is a result of attn-cli, nested arrays of numbers, or an object of such "
    "arrays");

}  // namespace

bool looks_like_json(std::span<const std::byte> bytes) noexcept {
  // The length that a .safetensors file starts with may look like a bracket or white space.
  if (looks_like_safetensors(bytes)) return false;
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

JsonTensorFile::JsonTensorFile(std::string_view text, std::shared_ptr<const void> owner,
                               std::size_t depth)
    : root_(std::make_unique<const JsonValue>(
          parse_json(text, {.depth = depth, .threads = 0, .owner = std::move(owner)}))) {
  const JsonValue& root = *root_;
  const auto add = [&](std::string name, std::string pointer, const JsonValue& value) {
    names_.push_back(std::move(name));
    pointers_.push_back(std::move(pointer));
    values_.push_back(&value);
  };
  if (root.is(JsonValue::Type::array) || looks_like_tensor(root)) {
    add("", "", root);
    return;
  }
  if (!root.is(JsonValue::Type::object)) {
    throw input_error(
        translated("the JSON text holds no tensors but {1}", translated(type_text(root))), "",
        translated(help));
  }
  const JsonValue* dtype = root.find("dtype");
  // Numbers of the narrow types are written as those of float32.
  if (dtype != nullptr && dtype->is(JsonValue::Type::string)) {
    for (const DType known : {DType::float32, DType::bfloat16, DType::float16}) {
      if (dtype->string() != name(known)) continue;
      dtype_ = DType::float32;
      if (is_narrow(known)) narrow_ = known;
    }
  }
  const JsonValue* tensors = root.find("tensors");
  if (tensors != nullptr && tensors->is(JsonValue::Type::object)) {
    for (const JsonMember& member : tensors->members()) {
      add(member.key, pointer_to("/tensors", member.key), member.value);
    }
    return;
  }
  for (const JsonMember& member : root.members()) {
    if (looks_like_tensor(member.value)) {
      add(member.key, pointer_to("", member.key), member.value);
    }
  }
  if (names_.empty()) {
    throw input_error(translated("the JSON object holds no tensor"), "", translated(help));
  }
}

DType JsonTensorFile::stored_type(const Tensor& read) const {
  if (!narrow_ || read.dtype() != DType::float32) return read.dtype();
  const auto numbers = read.values<float>();
  const bool holds = std::all_of(numbers.begin(), numbers.end(), [&](float x) {
    const auto exact = static_cast<double>(x);
    return std::isnan(x) || nearest_narrow(exact, *narrow_) == exact;
  });
  return holds ? *narrow_ : read.dtype();
}

Tensor JsonTensorFile::read(std::size_t index, const OpenTensor& open) const {
  return tensor_from_json(*values_[index], dtype_, pointers_[index], open);
}

}  // namespace attn
