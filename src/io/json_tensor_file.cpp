#include "io/json_tensor_file.hpp"

#include "attn/error.hpp"

#include "io/json_tensor.hpp"
#include "io/safetensors.hpp"

namespace attn {
namespace {

bool is_flat_tensor(const JsonValue& value) {
  const JsonValue* data = value.find("data");
  return value.find("shape") != nullptr && data != nullptr && data->is(JsonValue::Type::array);
}

// Whether the value is nested arrays that start with a number, or may: arrays of names are no
// tensors.
bool is_nested_tensor(const JsonValue& value) {
  if (!value.is(JsonValue::Type::array)) return false;
  if (value.block() != nullptr) return true;
  const JsonValue* inner = &value;
  while (inner->is(JsonValue::Type::array) && !inner->is_packed()) inner = &inner->elements()[0];
  switch (inner->type()) {
    case JsonValue::Type::array:
    case JsonValue::Type::number:
    case JsonValue::Type::boolean:
      return true;
    case JsonValue::Type::string:
      return inner->string() == "inf" || inner->string() == "-inf" || inner->string() == "nan";
    default:
      return false;
  }
}

constexpr const char* help =
    "a file of tensors is a result of attn-cli, nested arrays of numbers, or an object of such "
    "arrays";

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
  if (root.is(JsonValue::Type::array) || is_flat_tensor(root)) {
    add("", "", root);
    return;
  }
  if (!root.is(JsonValue::Type::object)) {
    throw input_error("the JSON text holds no tensors but " + std::string(type_text(root)), "",
                      help);
  }
  const JsonValue* dtype = root.find("dtype");
  if (dtype != nullptr && dtype->is(JsonValue::Type::string) && dtype->string() == "float32") {
    dtype_ = DType::float32;
  }
  const JsonValue* tensors = root.find("tensors");
  if (tensors != nullptr && tensors->is(JsonValue::Type::object)) {
    for (const JsonMember& member : tensors->members()) {
      add(member.key, pointer_to("/tensors", member.key), member.value);
    }
    return;
  }
  for (const JsonMember& member : root.members()) {
    if (is_nested_tensor(member.value) || is_flat_tensor(member.value)) {
      add(member.key, pointer_to("", member.key), member.value);
    }
  }
  if (names_.empty()) {
    throw input_error("the JSON object holds no tensor", "", help);
  }
}

std::optional<JsonTensorFile::Reference> JsonTensorFile::reference(std::size_t index) const {
  const JsonValue* file = values_[index]->find("file");
  if (file == nullptr) return std::nullopt;
  const auto text = [&](const JsonValue& value, const char* key) {
    if (value.is(JsonValue::Type::string)) return value.string();
    throw input_error(std::string(type_text(value)) + " stands where a name should",
                      pointer_to(pointers_[index], key), "");
  };
  const JsonValue* name = values_[index]->find("name");
  return Reference{text(*file, "file"), name == nullptr ? "" : text(*name, "name"), values_[index]};
}

Tensor JsonTensorFile::read(std::size_t index) const {
  const JsonValue& value = *values_[index];
  if (value.find("files") != nullptr) {
    throw input_error("the tensor stands in comma-separated files, which are not read back",
                      pointers_[index],
                      "write the result with --tensors json, npy, npz or safetensors");
  }
  if (is_flat_tensor(value)) {
    return tensor_from_flat_json(*value.find("shape"), *value.find("data"), dtype_,
                                 pointers_[index]);
  }
  return tensor_from_json(value, dtype_, pointers_[index]);
}

}  // namespace attn
