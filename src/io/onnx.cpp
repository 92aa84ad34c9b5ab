#include "io/onnx.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "io/protobuf.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

// Numbers of fields in onnx.proto.
enum : std::uint32_t {
  model_version = 1,
  model_graph = 7,
  graph_node = 1,
  graph_initializer = 5,
  node_output = 2,
  node_type = 4,
  node_attribute = 5,
  attribute_tensor = 5,
  tensor_axes = 1,
  tensor_type = 2,
  tensor_floats = 4,
  tensor_int32 = 5,
  tensor_int64 = 7,
  tensor_name = 8,
  tensor_bytes = 9,
  tensor_doubles = 10,
  tensor_uint64 = 11,
  tensor_place = 14,
};

[[noreturn]] void fail(const std::string& problem, const std::string& name) {
  throw input_error(problem, name.empty() ? "" : "tensor " + in_quotes(name),
                    translated("export the model again"));
}

// Calls use(field) for each field of a message. Throws Error(input) if it is malformed.
template <class Use>
void for_each_proto_field(std::string_view message, const Use& use) {
  while (!message.empty()) {
    const auto field = take_proto_field(message);
    if (!field) fail(translated("the file is damaged or cut off"), "");
    use(*field);
  }
}

/// A type of elements in the list of TensorProto, and the field that has its numbers where they are
/// not bytes.
struct OnnxType {
  std::uint64_t number;
  ElementType type;
  std::uint32_t field;
};
constexpr auto onnx_types = std::to_array<OnnxType>({
    {1, ElementType::float32, tensor_floats},
    {2, ElementType::uint8, tensor_int32},
    {3, ElementType::int8, tensor_int32},
    {4, ElementType::uint16, tensor_int32},
    {5, ElementType::int16, tensor_int32},
    {6, ElementType::int32, tensor_int32},
    {7, ElementType::int64, tensor_int64},
    {9, ElementType::boolean, tensor_int32},
    {10, ElementType::float16, tensor_int32},
    {11, ElementType::float64, tensor_doubles},
    {12, ElementType::uint32, tensor_uint64},
    {13, ElementType::uint64, tensor_uint64},
    {16, ElementType::bfloat16, tensor_int32},
});
// clang-format off
constexpr std::array<std::string_view, 25> type_names{
    "", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool",
    "float16", "float64", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0"};
// clang-format on

/// A tensor's message, before its numbers are looked at.
struct TensorMessage {
  std::string name;
  std::vector<std::int64_t> axes;
  std::uint64_t type = 0;
  bool elsewhere = false;  ///< whether the numbers are in another file
  std::optional<std::string_view> bytes;
  std::vector<ProtoField> numbers;  ///< in other fields
};

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void take_axes(const ProtoField& field, std::vector<std::int64_t>& axes) {
  if (field.type == ProtoField::varying) {
    axes.push_back(static_cast<std::int64_t>(field.value));
    return;
  }
  for (std::string_view all = field.content; !all.empty() && axes.size() <= most_axes;) {
    const auto axis = take_proto_number(all);
    if (!axis) fail(translated("the file is damaged or cut off"), "");
    axes.push_back(static_cast<std::int64_t>(*axis));
  }
}

TensorMessage read_message(std::string_view message, std::string name) {
  TensorMessage tensor;
  tensor.name = std::move(name);
  for_each_proto_field(message, [&](const ProtoField& field) {
    const bool number = field.type == ProtoField::varying;
    switch (field.number) {
      case tensor_axes:
        if (tensor.axes.size() <= most_axes) take_axes(field, tensor.axes);
        break;
      case tensor_type:
        if (number) tensor.type = field.value;
        break;
      case tensor_name:
        if (tensor.name.empty()) tensor.name = field.content;
        break;
      case tensor_bytes:
        if (field.type == ProtoField::with_length) tensor.bytes = field.content;
        break;
      case tensor_place:
        tensor.elsewhere = number && field.value == 1;
        break;
      case tensor_floats:
      case tensor_int32:
      case tensor_int64:
      case tensor_doubles:
      case tensor_uint64:
        tensor.numbers.push_back(field);
        break;
      default:
        break;
    }
  });
  if (tensor.name.empty() || !is_text(tensor.name)) tensor.name = "tensor";
  return tensor;
}

// The bytes of numbers that are not bytes in the message. Each has a byte there or more.
std::vector<std::byte> gathered(const TensorMessage& tensor, const OnnxType& type) {
  std::vector<std::byte> bytes;
  const std::size_t size = size_of(type.type);
  const auto put = [&](const void* from) {
    const auto* const first = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), first, first + size);
  };
  for (const ProtoField& field : tensor.numbers) {
    if (field.number != type.field) continue;
    if (type.field == tensor_floats || type.field == tensor_doubles) {
      const auto* const first = reinterpret_cast<const std::byte*>(field.content.data());
      bytes.insert(bytes.end(), first, first + field.content.size());
      continue;
    }
    if (field.type == ProtoField::varying) put(&field.value);
    for (std::string_view all = field.content; !all.empty();) {
      const auto number = take_proto_number(all);
      if (!number) fail(translated("the file is damaged or cut off"), tensor.name);
      put(&*number);
    }
  }
  return bytes;
}

}  // namespace

bool looks_like_onnx(std::span<const std::byte> bytes) {
  std::string_view message(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bool version = false, graph = false, typed = false, numbers = false;
  while (!message.empty()) {
    const auto field = take_proto_field(message);
    constexpr std::uint32_t most = 32;
    if (!field || field->number > most) return false;
    const bool varying = field->type == ProtoField::varying,
               with_length = field->type == ProtoField::with_length;
    version = version || (field->number == model_version && varying);
    graph = graph || (field->number == model_graph && with_length);
    typed = typed || (field->number == tensor_type && varying && field->value > 0 &&
                      field->value < type_names.size());
    numbers = numbers || field->number >= tensor_floats;
  }
  return typed ? numbers : version && graph;
}

Onnx::Onnx(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)) {
  const std::string_view message(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bool is_tensor = false;
  for_each_proto_field(message, [&](const ProtoField& field) {
    is_tensor = is_tensor || (field.number == tensor_type && field.type == ProtoField::varying);
  });
  if (is_tensor) {
    read_tensor(message, "");
  } else {
    read_model(message);
  }
}

void Onnx::read_model(std::string_view message) {
  for_each_proto_field(message, [&](const ProtoField& field) {
    if (field.number == model_graph) read_graph(field.content);
  });
}

void Onnx::read_graph(std::string_view message) {
  for_each_proto_field(message, [&](const ProtoField& field) {
    if (field.type != ProtoField::with_length) return;
    if (field.number == graph_initializer) read_tensor(field.content, "");
    if (field.number == graph_node) read_node(field.content);
  });
}

void Onnx::read_node(std::string_view message) {
  std::string output;
  bool constant = false;
  std::vector<std::string_view> attributes;
  for_each_proto_field(message, [&](const ProtoField& field) {
    if (field.type != ProtoField::with_length) return;
    if (field.number == node_output && output.empty()) output = field.content;
    if (field.number == node_type) constant = field.content == "Constant";
    if (field.number == node_attribute) attributes.push_back(field.content);
  });
  if (!constant) return;
  for (const std::string_view attribute : attributes) {
    for_each_proto_field(attribute, [&](const ProtoField& field) {
      if (field.number == attribute_tensor && field.type == ProtoField::with_length) {
        read_tensor(field.content, output);
      }
    });
  }
}

void Onnx::read_tensor(std::string_view message, std::string given_name) {
  const TensorMessage tensor = read_message(message, std::move(given_name));
  const std::string& name = tensor.name;
  const auto other = [&](std::string reason) { others_.push_back({name, std::move(reason)}); };
  if (!seen_.insert(name).second) {
    fail(translated("the tensor {1} is there twice", in_quotes(name)), name);
  }
  const auto type = std::ranges::find(onnx_types, tensor.type, &OnnxType::number);
  if (type == onnx_types.end()) {
    const bool known = tensor.type < type_names.size() && tensor.type > 0;
    return other(
        translated("numbers of the type {1}, which are not read",
                   known ? std::string(type_names[tensor.type]) : std::to_string(tensor.type)));
  }
  if (tensor.elsewhere) {
    return other(translated("numbers in another file: save the model with its data in one file"));
  }
  check_axes(tensor.axes.size(), "tensor " + in_quotes(name));
  RawArray array;
  array.type = type->type;
  for (const std::int64_t axis : tensor.axes) {
    if (axis < 0) fail(translated("an axis has the size {1}", axis), name);
    array.shape.push_back(static_cast<std::size_t>(axis));
  }
  if (std::ranges::count(array.shape, 0U) > 0) return other(empty_reason(array.shape));
  if (tensor.bytes) {
    array.bytes = std::as_bytes(std::span(*tensor.bytes));
    array.owner = owner_;
  } else {
    const auto own = std::make_shared<const std::vector<std::byte>>(gathered(tensor, *type));
    array.bytes = *own;
    array.owner = own;
  }
  std::size_t bytes = size_of(array.type);
  for (const std::size_t axis : array.shape) {
    if (__builtin_mul_overflow(bytes, axis, &bytes)) bytes = SIZE_MAX;
  }
  if (bytes != array.bytes.size()) {
    fail(translated("{1} bytes of numbers do not fit {2} of the type {3}", array.bytes.size(),
                    text(array.shape), attn::name(array.type)),
         name);
  }
  names_.push_back(name);
  arrays_.push_back(std::move(array));
}

Tensor Onnx::read(std::size_t index) const {
  try {
    return tensor_from(arrays_[index]);
  } catch (const Error& error) {
    throw error.inside("tensor " + in_quotes(names_[index]));
  }
}

std::string Onnx::stored_type(std::size_t index) const {
  return std::string(attn::stored_type(arrays_[index]));
}

}  // namespace attn
