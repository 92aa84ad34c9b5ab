#include "io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <utility>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "io/raw_array.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::size_t length_bytes = 8;
// Limit of the format.
constexpr std::size_t longest_header = 100'000'000;
constexpr const char* write_again = to_translate("write the file again");

constexpr std::array<std::pair<std::string_view, ElementType>, 13> element_types = {{
    {"F16", ElementType::float16},
    {"BF16", ElementType::bfloat16},
    {"F32", ElementType::float32},
    {"F64", ElementType::float64},
    {"I8", ElementType::int8},
    {"I16", ElementType::int16},
    {"I32", ElementType::int32},
    {"I64", ElementType::int64},
    {"U8", ElementType::uint8},
    {"U16", ElementType::uint16},
    {"U32", ElementType::uint32},
    {"U64", ElementType::uint64},
    {"BOOL", ElementType::boolean},
}};

std::optional<ElementType> element_type(std::string_view dtype) {
  for (const auto& [name, type] : element_types) {
    if (dtype == name) return type;
  }
  return std::nullopt;
}

std::string header_place(const std::string& pointer) {
  return "header, " + pointer;
}

[[noreturn]] void fail(const std::string& problem, const std::string& pointer) {
  throw input_error(problem, header_place(pointer), translated(write_again));
}

std::vector<std::size_t> sizes(const JsonObject& tensor, const char* key) {
  return sizes_from_json(tensor.member(key), 0, tensor.place(key));
}

std::size_t header_length(std::span<const std::byte> bytes) noexcept {
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return length;
}

std::string range_text(std::size_t begin, std::size_t end) {
  return std::to_string(begin) + " to " + std::to_string(end);
}

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> bytes) noexcept {
  return bytes.size() > length_bytes && bytes[length_bytes] == std::byte{'{'} &&
         header_length(bytes) <= 0xFFFFFFFF;
}

Safetensors::Safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)) {
  if (bytes.size() < length_bytes) {
    throw input_error(translated("the .safetensors file is cut off"),
                      "byte " + std::to_string(bytes.size()), translated(write_again));
  }
  const std::size_t length = header_length(bytes);
  if (length > longest_header) {
    throw input_error(
        translated(
            "the .safetensors file claims a header of {1} bytes, but the format allows 100000000",
            length),
        "byte 0", translated(write_again));
  }
  if (length > bytes.size() - length_bytes) {
    throw input_error(
        translated("the .safetensors file claims a header of {1} bytes, but ends after {2}", length,
                   bytes.size() - length_bytes),
        "byte 0", translated("the file is cut off: copy or download it again"));
  }
  const auto header_bytes = bytes.subspan(length_bytes, length);
  data_ = bytes.subspan(length_bytes + length);

  JsonValue header;
  try {
    header = parse_json({reinterpret_cast<const char*>(header_bytes.data()), header_bytes.size()});
  } catch (const Error& error) {
    throw error.inside("header");
  }
  if (!header.is(JsonValue::Type::object)) {
    throw input_error(translated("the header of the .safetensors file is not a JSON object"),
                      "byte 8", translated(write_again));
  }
  for (const JsonMember& tensor : header.members()) {
    if (tensor.key == "__metadata__") continue;
    const std::string pointer = pointer_to("", tensor.key);
    if (!tensor.value.is(JsonValue::Type::object)) {
      fail(translated("expected a tensor, found {1}", translated(type_text(tensor.value))),
           pointer);
    }
    const JsonObject members(tensor.value, header_place(pointer),
                             {.missing = to_translate("the tensor has no \"{1}\""),
                              .missing_help = write_again,
                              .missing_in_object = true});
    Entry entry;
    const JsonValue& dtype = members.member("dtype");
    if (!dtype.is(JsonValue::Type::string)) {
      fail(translated("{1} is not a dtype", translated(type_text(dtype))),
           pointer_to(pointer, "dtype"));
    }
    entry.dtype = dtype.string();
    const std::string shape_pointer = pointer_to(pointer, "shape");
    entry.shape = sizes(members, "shape");
    const std::string offsets_pointer = pointer_to(pointer, "data_offsets");
    const auto offsets = sizes(members, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      fail(translated("data_offsets must be a start and an end that is not before it"),
           offsets_pointer);
    }
    entry.begin = offsets[0];
    entry.end = offsets[1];
    if (entry.end > data_.size()) {
      throw input_error(
          translated("the tensor ends at byte {1} of the data, of which there are {2}", entry.end,
                     data_.size()),
          header_place(offsets_pointer),
          translated("the file is cut off: copy or download it again"));
    }
    std::size_t count = 0;
    try {
      count = element_count(entry.shape);
    } catch (const Error& error) {
      throw error.inside(header_place(shape_pointer));
    }
    const auto type = element_type(entry.dtype);
    if (type && entry.end - entry.begin != count * size_of(*type)) {
      fail(translated("the shape {1} of {2} takes {3} bytes, but data_offsets span {4}",
                      text(entry.shape), entry.dtype, count * size_of(*type),
                      entry.end - entry.begin),
           offsets_pointer);
    }
    names_.push_back(tensor.key);
    entries_.push_back(std::move(entry));
  }

  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(entries_[a].begin, entries_[a].end) <
           std::pair(entries_[b].begin, entries_[b].end);
  });
  std::size_t covered = 0;
  for (const std::size_t i : order) {
    const Entry& entry = entries_[i];
    const std::string pointer = pointer_to(pointer_to("", names_[i]), "data_offsets");
    if (entry.begin < covered) {
      fail(translated("the tensor overlaps another: its bytes {1} start before {2}",
                      range_text(entry.begin, entry.end), covered),
           pointer);
    }
    if (entry.begin > covered) {
      fail(translated("the bytes {1} of the data belong to no tensor",
                      range_text(covered, entry.begin)),
           pointer);
    }
    covered = entry.end;
  }
  if (covered != data_.size()) {
    throw input_error(translated("the bytes {1} of the data belong to no tensor",
                                 range_text(covered, data_.size())),
                      "byte " + std::to_string(length_bytes + length + covered),
                      translated(write_again));
  }
}

RawArray Safetensors::raw(std::size_t index) const {
  const Entry& entry = entries_[index];
  const auto type = element_type(entry.dtype);
  if (!type) {
    std::string known;
    for (const auto& [name, ignored] : element_types) {
      known += known.empty() ? "known: " : ", ";
      known += name;
    }
    throw input_error(
        translated("elements of the dtype {1} cannot be read", in_quotes(entry.dtype)),
        header_place(pointer_to(pointer_to("", names_[index]), "dtype")), known);
  }
  RawArray array;
  array.shape = entry.shape;
  array.type = *type;
  array.bytes = data_.subspan(entry.begin, entry.end - entry.begin);
  array.owner = owner_;
  return array;
}

Tensor Safetensors::read(std::size_t index) const {
  const RawArray array = raw(index);
  try {
    return tensor_from(array);
  } catch (const Error& error) {
    throw error.inside(header_place(pointer_to("", names_[index])));
  }
}

std::string safetensors_header(std::span<const NamedTensor> tensors) {
  std::string header = "{";
  std::size_t begin = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor)
      throw Error(ErrorKind::internal, translated("an absent tensor was written"), name, "");
    const std::size_t end = begin + tensor.size() * size_of(tensor.dtype());
    const char* dtype = "";
    switch (tensor.dtype()) {
      case DType::float32:
        dtype = "F32";
        break;
      case DType::float64:
        dtype = "F64";
        break;
      case DType::int64:
        dtype = "I64";
        break;
      case DType::boolean:
        dtype = "BOOL";
        break;
      case DType::bfloat16:
        dtype = "BF16";
        break;
      case DType::float16:
        dtype = "F16";
        break;
    }
    if (header.size() > 1) header += ',';
    header += json_string(name) + R"(:{"dtype":")" + dtype + R"(","shape":)" +
              text(tensor.shape()) + R"(,"data_offsets":)" + text(Shape{begin, end}) + "}";
    begin = end;
  }
  header += '}';
  header.append((length_bytes - header.size() % length_bytes) % length_bytes, ' ');

  std::string length;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  }
  return length + header;
}

std::string safetensors_bytes(std::span<const NamedTensor> tensors) {
  std::string result = safetensors_header(tensors);
  std::size_t size = result.size();
  for (const auto& [name, tensor] : tensors) size += tensor.size() * size_of(tensor.dtype());
  result.reserve(size);
  for (const auto& [name, tensor] : tensors) {
    result.append(static_cast<const char*>(tensor.bytes()),
                  tensor.size() * size_of(tensor.dtype()));
  }
  return result;
}

}  // namespace attn
