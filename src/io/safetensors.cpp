#include "io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "attn/error.hpp"

#include "io/file_members.hpp"
#include "io/json_events.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/block_numbers.hpp"

namespace attn {
namespace {

constexpr std::size_t length_bytes = 8;
// Limit of the format.
constexpr std::size_t longest_header = 100'000'000;
// More than files have, and less than would fill the memory.
constexpr std::size_t most_tensors = 400'000, longest_description = 1U << 16,
                      longest_metadata = 10'000'000;
// Rows and columns that share a scale, and the end of the scales' name.
constexpr std::size_t scale_block = 128;
constexpr std::string_view scale_end = "_scale_inv";
constexpr const char* write_again = to_translate("write the file again");
constexpr const char* write_in_parts = to_translate("write the tensors into several files");

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

std::optional<ByteNumber> byte_type(std::string_view dtype) {
  if (dtype == "F8_E4M3") return ByteNumber::e4m3;
  if (dtype == "F8_E5M2") return ByteNumber::e5m2;
  return std::nullopt;
}

// Bytes of an element; absent for dtypes that are not known.
std::optional<std::size_t> element_bytes(std::string_view dtype) {
  if (byte_type(dtype)) return 1;
  const auto type = element_type(dtype);
  return type ? std::optional(size_of(*type)) : std::nullopt;
}

std::string header_place(const std::string& pointer) {
  return "header, " + pointer;
}

[[noreturn]] void fail(const std::string& problem, const std::string& pointer) {
  throw input_error(problem, header_place(pointer), translated(write_again));
}

[[noreturn]] void throw_repeated(const std::string& name) {
  throw input_error(translated("the key {1} is given twice", in_quotes(name)),
                    header_place(pointer_to("", name)), translated("remove one of the two"));
}

std::vector<std::size_t> size_list(const JsonObject& tensor, const char* key) {
  return sizes_from_json(tensor.member(key), 0, tensor.place(key));
}

std::size_t header_length(std::span<const std::byte> bytes) noexcept {
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  }
  return length;
}

// The text of the header. Throws for one that is longer than the format allows or than the file.
std::string_view header_of(std::span<const std::byte> bytes) {
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
  return {reinterpret_cast<const char*>(bytes.data()) + length_bytes, length};
}

std::string range_text(std::size_t begin, std::size_t end) {
  return translated("{1} to {2}", begin, end);
}

// Throws for the name whose repetition comes first.
void check_names(const std::vector<std::string>& names) {
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> std::string_view { return names[i]; });
  std::size_t repeated = names.size();
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (names[order[i]] == names[order[i - 1]]) repeated = std::min(repeated, order[i]);
  }
  if (repeated < names.size()) throw_repeated(names[repeated]);
}

// Reads the header tensor by tensor, so that its values are never in memory all at once. Returns
// the names and hands over each description, and the metadata.
template <class Take, class TakeMetadata>
std::vector<std::string> read_header(std::string_view text, const Take& take,
                                     const TakeMetadata& take_metadata) {
  std::vector<std::string> names;
  JsonEvents events(text);
  const auto in_header = [](auto&& read) {
    try {
      return read();
    } catch (const Error& error) {
      throw error.inside("header");
    }
  };
  if (in_header([&] { return events.peek(); }) != JsonValue::Type::object) {
    in_header([&] {
      events.value();
      events.expect_end();
    });
    throw input_error(translated("the header of the .safetensors file is not a JSON object"),
                      "byte 8", translated(write_again));
  }
  events.enter();
  // A repeated name is reported before other mistakes.
  std::optional<Error> first;
  bool has_metadata = false;
  std::string_view key;
  while (in_header([&] { return events.next_member(key); })) {
    const std::string name(key);
    const bool metadata = name == "__metadata__";
    const JsonValue tensor =
        in_header([&] { return events.value(metadata ? longest_metadata : longest_description); });
    if (metadata) {
      if (std::exchange(has_metadata, true)) throw_repeated(name);
      take_metadata(tensor);
      continue;
    }
    if (names.size() == most_tensors) {
      throw input_error(translated("the file holds more than {1} tensors", most_tensors),
                        header_place(pointer_to("", name)), translated(write_in_parts));
    }
    names.push_back(name);
    if (first) continue;
    try {
      take(name, tensor);
    } catch (const Error& error) {
      first = error;
    }
  }
  in_header([&] { events.expect_end(); });
  check_names(names);
  if (first) throw *first;
  return names;
}

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> bytes) noexcept {
  return bytes.size() > length_bytes && bytes[length_bytes] == std::byte{'{'} &&
         header_length(bytes) <= 0xFFFFFFFF;
}

Safetensors::Safetensors(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)) {
  const std::string_view header = header_of(bytes);
  const std::size_t data_begin = length_bytes + header.size();
  data_ = bytes.subspan(data_begin);
  names_ = read_header(
      header,
      [&](const std::string& name, const JsonValue& tensor) {
        entries_.push_back(entry_of(tensor, name));
      },
      [&](const JsonValue& metadata) { add_metadata(metadata); });
  check_coverage(data_begin);
  join_scales();
  set_others_aside();
}

// The type, shape and place of a tensor, from its description in the header.
Safetensors::Entry Safetensors::entry_of(const JsonValue& tensor, const std::string& name) const {
  const std::string pointer = pointer_to("", name);
  if (!tensor.is(JsonValue::Type::object)) {
    fail(translated("expected a tensor, found {1}", translated(type_text(tensor))), pointer);
  }
  const JsonObject members(tensor, header_place(pointer),
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
  entry.shape = size_list(members, "shape");
  const std::string offsets_pointer = pointer_to(pointer, "data_offsets");
  const auto offsets = size_list(members, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fail(translated("data_offsets must be a start and an end that is not before it"),
         offsets_pointer);
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  if (entry.end > data_.size()) {
    throw input_error(translated("the tensor ends at byte {1} of the data, of which there are {2}",
                                 entry.end, data_.size()),
                      header_place(offsets_pointer),
                      translated("the file is cut off: copy or download it again"));
  }
  std::size_t count = 0;
  try {
    count = element_count(entry.shape);
  } catch (const Error& error) {
    throw error.inside(header_place(pointer_to(pointer, "shape")));
  }
  const auto bytes_each = element_bytes(entry.dtype);
  if (bytes_each && entry.end - entry.begin != count * *bytes_each) {
    fail(translated("the shape {1} of {2} takes {3} bytes, but data_offsets span {4}",
                    text(entry.shape), entry.dtype, count * *bytes_each, entry.end - entry.begin),
         offsets_pointer);
  }
  return entry;
}

// Lists the texts of the metadata that are lists of texts.
void Safetensors::add_metadata(const JsonValue& metadata) {
  if (!metadata.is(JsonValue::Type::object)) return;
  for (const JsonMember& member : metadata.members()) {
    if (!member.value.is(JsonValue::Type::string)) continue;
    if (auto texts = texts_of_list(member.value.string()); !texts.empty()) {
      others_.push_back(
          {member.key, translated("texts"), [texts = std::move(texts)] { return texts; }});
    }
  }
}

// Throws unless the tensors cover the data, which begin at that byte, without overlap or gap.
void Safetensors::check_coverage(std::size_t data_begin) const {
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
                      "byte " + std::to_string(data_begin + covered), translated(write_again));
  }
}

// Takes what cannot be read out of the tensors.
void Safetensors::set_others_aside() {
  std::vector<std::string> names;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const Entry& entry = entries_[i];
    const bool known = entry.scales || element_bytes(entry.dtype);
    if (known && entry.begin < entry.end) {
      names.push_back(std::move(names_[i]));
      entries.push_back(entry);
    } else {
      others_.push_back({names_[i], known
                                        ? empty_reason(entry.shape)
                                        : translated("numbers of the type {1}, which are not read",
                                                     printable(entry.dtype))});
    }
  }
  names_ = std::move(names);
  entries_ = std::move(entries);
}

// Joins numbers with their scales, which are tensors of their own in the file.
void Safetensors::join_scales() {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < names_.size(); ++i) places.emplace(names_[i], i);
  const auto find = [&](const std::string& name) -> const Entry* {
    const auto place = places.find(name);
    return place == places.end() ? nullptr : &entries_[place->second];
  };
  const auto ends = [](std::string_view name, std::string_view end) {
    return name.size() > end.size() && name.ends_with(end);
  };
  std::vector<std::string> names;
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i];
    Entry own = entries_[i];
    if (ends(name, scale_end)) {
      const Entry* numbers = find(name.substr(0, name.size() - scale_end.size()));
      if (numbers != nullptr && byte_type(numbers->dtype)) continue;
    }
    if (byte_type(own.dtype)) {
      if (const Entry* scales = find(name + std::string(scale_end))) {
        check_block_scales(own, *scales, name);
        own.scales = std::make_shared<const Entry>(*scales);
      }
    }
    const std::string stem = name.substr(0, name.rfind('_'));
    const bool joins = find(stem) == nullptr;
    if (joins && ends(name, "_scales") && is_four_bits(find(stem + "_blocks"), &own)) continue;
    if (joins && ends(name, "_blocks") && is_four_bits(&own, find(stem + "_scales"))) {
      const Entry& scales = *find(stem + "_scales");
      own.scales = std::make_shared<const Entry>(scales);
      own.shape = scales.shape;
      own.shape.back() *= 32;
      names.push_back(stem);
    } else {
      names.push_back(name);
    }
    entries.push_back(std::move(own));
  }
  names_ = std::move(names);
  entries_ = std::move(entries);
}

// Sixteen bytes [..,groups,16] and a scale [..,groups] for each 32 numbers of four bits.
bool Safetensors::is_four_bits(const Entry* blocks, const Entry* scales) {
  if (blocks == nullptr || scales == nullptr || blocks->dtype != "U8" || scales->dtype != "U8") {
    return false;
  }
  Shape wanted = scales->shape;
  wanted.push_back(16);
  return !scales->shape.empty() && blocks->shape == wanted;
}

void Safetensors::check_block_scales(const Entry& numbers, const Entry& scales,
                                     const std::string& name) {
  Shape wanted = numbers.shape;
  for (std::size_t& size : wanted) size = (size + scale_block - 1) / scale_block;
  const auto type = element_type(scales.dtype);
  const bool floats =
      type == ElementType::float32 || type == ElementType::bfloat16 || type == ElementType::float16;
  if (numbers.shape.size() == 2 && scales.shape == wanted && floats) return;
  fail(translated("the scales {1} of {2} do not fit the numbers {3}: one for each {4} rows and "
                  "columns is expected",
                  text(scales.shape), scales.dtype, text(numbers.shape), scale_block),
       pointer_to("", name + std::string(scale_end)));
}

namespace {

// Numbers of a byte each, with a scale for each block of 128 rows and columns or without.
std::function<void(std::size_t row, float* to)> byte_rows(ByteNumber type,
                                                          std::span<const std::byte> bytes,
                                                          std::size_t width,
                                                          std::vector<float> scales) {
  const std::size_t across = (width + scale_block - 1) / scale_block;
  return [&numbers = byte_numbers(type), bytes, width, across, scales = std::move(scales)](
             std::size_t row, float* to) {
    const std::byte* from = bytes.data() + row * width;
    for (std::size_t first = 0; first < width; first += scale_block) {
      const std::size_t end = std::min(width, first + scale_block);
      const float scale =
          scales.empty() ? 1 : scales[row / scale_block * across + first / scale_block];
      for (std::size_t i = first; i < end; ++i) {
        to[i] = numbers[std::to_integer<std::size_t>(from[i])] * scale;
      }
    }
  };
}

// Rows of groups of 32 numbers of four bits (E2M1), two a byte, the lower first, with the exponent
// of each group (OCP Microscaling Formats).
std::function<void(std::size_t row, float* to)> four_bit_rows(std::span<const std::byte> blocks,
                                                              std::span<const std::byte> scales,
                                                              std::size_t groups) {
  return [blocks, scales, groups](std::size_t row, float* to) {
    for (std::size_t group = row * groups; group < (row + 1) * groups; ++group, to += 32) {
      const int exponent = std::to_integer<int>(scales[group]) - 127;
      std::array<float, 16> numbers{};
      for (std::size_t i = 0; i < 8; ++i) {
        numbers[i] = std::ldexp(static_cast<float>(twice_e2m1[i]), exponent - 1);
        numbers[i + 8] = -numbers[i];
      }
      for (std::size_t k = 0; k < 16; ++k) {
        const auto both = std::to_integer<std::size_t>(blocks[group * 16 + k]);
        to[2 * k] = numbers[both & 0xFU];
        to[2 * k + 1] = numbers[both >> 4U];
      }
    }
  };
}

}  // namespace

RawArray Safetensors::with_scales(const Entry& entry) const {
  RawArray array;
  array.shape = entry.shape;
  array.owner = owner_;
  const auto bytes = [&](const Entry& of) { return data_.subspan(of.begin, of.end - of.begin); };
  const std::size_t width = entry.shape.empty() ? 1 : entry.shape.back();
  if (const auto type = byte_type(entry.dtype)) {
    array.stored_as = *type == ByteNumber::e4m3 ? "float8_e4m3" : "float8_e5m2";
    std::vector<float> scales;
    if (entry.scales) {
      scales.resize(element_count(entry.scales->shape));
      widen(*element_type(entry.scales->dtype), bytes(*entry.scales).data(), scales.size(),
            scales.data());
    }
    array.make_row = byte_rows(*type, bytes(entry), width, std::move(scales));
  } else {
    array.stored_as = "MXFP4";
    array.make_row = four_bit_rows(bytes(entry), bytes(*entry.scales), width / 32);
  }
  return array;
}

RawArray Safetensors::raw(std::size_t index) const {
  const Entry& entry = entries_[index];
  if (entry.scales || byte_type(entry.dtype)) return with_scales(entry);
  const auto type = element_type(entry.dtype);
  RawArray array;
  array.shape = entry.shape;
  array.type = *type;
  array.bytes = data_.subspan(entry.begin, entry.end - entry.begin);
  array.owner = owner_;
  return array;
}

std::string Safetensors::stored_type(std::size_t index) const {
  return std::string(attn::stored_type(raw(index)));
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
