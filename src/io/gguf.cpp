#include "io/gguf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::string_view magic = "GGUF";
constexpr const char* fetch_again =
    to_translate("the file is damaged or cut off: copy or download it again");

// A number of the file: its bytes stand the other way round in files of big-endian machines.
template <class T>
T number_of(const std::byte* from, bool big_endian) {
  std::array<std::byte, sizeof(T)> bytes;
  std::copy_n(from, bytes.size(), bytes.begin());
  if (big_endian) std::ranges::reverse(bytes);
  return std::bit_cast<T>(bytes);
}

/// Types in blocks that converters for big-endian machines write (gguf_convert_endian of gguf-py),
/// and the places of the 16-bit numbers in a block, whose bytes these turn.
struct TurnedBlock {
  BlockType type;
  std::vector<std::size_t> halves;
};
const std::vector<TurnedBlock>& turned_blocks() {
  static const std::vector<TurnedBlock> all{{BlockType::q4_0, {0}},    {BlockType::q8_0, {0}},
                                            {BlockType::q4_k, {0, 2}}, {BlockType::q6_k, {208}},
                                            {BlockType::mxfp4, {}},    {BlockType::nvfp4, {}}};
  return all;
}

std::string byte_place(std::size_t at) {
  return "byte " + std::to_string(at);
}

[[noreturn]] void fail(const std::string& problem, std::size_t at) {
  throw input_error(problem, byte_place(at), translated(fetch_again));
}

/// Numbers in ggml's list of types that are read.
struct StoredType {
  std::uint32_t number;
  std::variant<ElementType, BlockType> type;
};
constexpr auto stored_types = std::to_array<StoredType>({
    {0, ElementType::float32},  {1, ElementType::float16},   {2, BlockType::q4_0},
    {3, BlockType::q4_1},       {6, BlockType::q5_0},        {7, BlockType::q5_1},
    {8, BlockType::q8_0},       {10, BlockType::q2_k},       {11, BlockType::q3_k},
    {12, BlockType::q4_k},      {13, BlockType::q5_k},       {14, BlockType::q6_k},
    {20, BlockType::iq4_nl},    {23, BlockType::iq4_xs},     {24, ElementType::int8},
    {25, ElementType::int16},   {26, ElementType::int32},    {27, ElementType::int64},
    {28, ElementType::float64}, {30, ElementType::bfloat16}, {39, BlockType::mxfp4},
    {16, BlockType::iq2_xxs},   {17, BlockType::iq2_xs},     {18, BlockType::iq3_xxs},
    {19, BlockType::iq1_s},     {21, BlockType::iq3_s},      {22, BlockType::iq2_s},
    {29, BlockType::iq1_m},     {34, BlockType::tq1_0},      {35, BlockType::tq2_0},
    {40, BlockType::nvfp4},
});

constexpr auto refused_types = std::to_array<std::pair<std::uint32_t, std::string_view>>({
    {9, "Q8_1"},
    {15, "Q8_K"},
    {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"},
    {36, "IQ4_NL_4_4"},
    {37, "IQ4_NL_4_8"},
    {38, "IQ4_NL_8_8"},
    {41, "Q1_0"},
});

}  // namespace

bool looks_like_gguf(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

class GgufReader {
 public:
  // Bytes of a number or boolean; 0 for texts and arrays.
  static std::size_t size_of(Gguf::Type type) {
    constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return sizes[static_cast<std::size_t>(type)];
  }

  explicit GgufReader(Gguf& to) : to_(to), bytes_(to.bytes_) {}

  void read() {
    read_version();
    const auto tensors = take<std::uint64_t>(), keys = take<std::uint64_t>();
    // A tensor takes 24 bytes or more, a key 12.
    if (tensors > bytes_.size() / 24 || keys > bytes_.size() / 12) {
      fail(translated("the file claims {1} tensors and {2} keys, more than its {3} bytes can hold",
                      tensors, keys, bytes_.size()),
           at_);
    }
    for (std::uint64_t i = 0; i < keys; ++i) read_key();
    std::vector<Placed> placed;
    for (std::uint64_t i = 0; i < tensors; ++i) {
      if (const auto own = read_tensor()) placed.push_back(*own);
    }
    place_tensors(placed);
  }

 private:
  using Type = Gguf::Type;
  using Value = Gguf::Value;

  /// A tensor of the list with the place of its numbers.
  struct Placed {
    std::size_t entry = 0, at = 0;
    std::uint64_t offset = 0, size = 0;
  };

  // ---- Bytes ------------------------------------------------------------------------------------

  std::size_t skip(std::uint64_t count) {
    if (count > bytes_.size() - at_) {
      fail(translated("the file ends before {1} bytes that it announces", count), at_);
    }
    const std::size_t from = at_;
    at_ += count;
    return from;
  }

  template <class T>
  T take() {
    return number_of<T>(bytes_.data() + skip(sizeof(T)), to_.big_endian_);
  }

  std::string_view take_text() {
    const auto length = take<std::uint64_t>();
    return {reinterpret_cast<const char*>(bytes_.data()) + skip(length), length};
  }

  // ---- Header -----------------------------------------------------------------------------------

  void read_version() {
    if (!looks_like_gguf(bytes_)) fail(translated("this is not a GGUF file"), 0);
    at_ = magic.size();
    auto version = take<std::uint32_t>();
    to_.big_endian_ = version != 0 && (version & 0xFFFFU) == 0;
    if (to_.big_endian_) {
      at_ = magic.size();
      version = take<std::uint32_t>();
    }
    if (version == 2 || version == 3) return;
    throw input_error(translated("this is version {1} of GGUF: 2 and 3 are read", version),
                      byte_place(4), translated("convert the model again with llama.cpp"));
  }

  Type take_type() {
    const std::size_t from = at_;
    const auto number = take<std::uint32_t>();
    if (number > static_cast<std::uint32_t>(Type::float64)) {
      fail(translated("a value has the unknown type {1}", number), from);
    }
    return static_cast<Type>(number);
  }

  void read_key() {
    const std::size_t from = at_;
    const std::string_view name = take_text();
    const Value value = read_value(0);
    if (!to_.keys_.emplace(std::string(name), value).second) {
      fail(translated("the key {1} is there twice", in_quotes(name)), from);
    }
  }

  Value read_value(int depth) {
    Value value;
    value.type = take_type();
    if (value.type == Type::array) {
      read_array(value, depth);
      return value;
    }
    value.at = at_;
    skip_items(value.type, 1);
    return value;
  }

  void read_array(Value& value, int depth) {
    constexpr int most_nested = 8;
    const std::size_t from = at_;
    value.item = take_type();
    value.count = take<std::uint64_t>();
    value.at = at_;
    if (value.item != Type::array) {
      skip_items(value.item, value.count);
      return;
    }
    if (depth == most_nested || value.count > bytes_.size() / 12) {
      fail(translated("arrays are nested too deep or too long"), from);
    }
    for (std::uint64_t i = 0; i < value.count; ++i) {
      Value inner;
      read_array(inner, depth + 1);
    }
  }

  void skip_items(Type type, std::uint64_t count) {
    if (type != Type::text) {
      std::uint64_t size = 0;
      if (__builtin_mul_overflow(count, size_of(type), &size)) size = ~std::uint64_t{0};
      skip(size);
      return;
    }
    for (std::uint64_t i = 0; i < count; ++i) take_text();
  }

  // ---- Tensors ----------------------------------------------------------------------------------

  // Absent for numbers of a type that is not read.
  std::optional<Placed> read_tensor() {
    Placed own;
    own.at = at_;
    const std::string name(take_text());
    const auto where = [&] { return "tensor " + in_quotes(name); };
    const auto refuse = [&](const std::string& problem) {
      throw input_error(problem, where(), translated(fetch_again));
    };
    if (!seen_.insert(name).second)
      refuse(translated("the tensor {1} is there twice", in_quotes(name)));
    const auto axes = take<std::uint32_t>();
    check_axes(axes, where());
    Gguf::Entry entry;
    for (std::uint32_t axis = 0; axis < axes; ++axis) {
      entry.shape.push_back(take<std::uint64_t>());
    }
    std::ranges::reverse(entry.shape);
    const std::string unread = set_type(entry, take<std::uint32_t>());
    own.offset = take<std::uint64_t>();
    if (!unread.empty()) {
      to_.others_.push_back({name, unread});
      return std::nullopt;
    }
    try {
      const std::size_t count = element_count(entry.shape);
      if (!entry.blocks) {
        own.size = count * attn::size_of(entry.type);
      } else {
        const BlockForm& block = form(*entry.blocks);
        const std::size_t row = entry.shape.empty() ? 1 : entry.shape.back();
        if (row % block.elements != 0) {
          refuse(translated("rows of {1} numbers are not whole blocks of {2}, as {3} has them", row,
                            block.elements, block.name));
        }
        own.size = count / block.elements * block.bytes;
      }
    } catch (const Error& error) {
      if (!error.where().empty()) throw;
      throw error.inside(where());
    }
    own.entry = to_.entries_.size();
    to_.entries_.push_back(std::move(entry));
    to_.names_.push_back(name);
    return own;
  }

  // Why numbers of that type are not read; empty if they are, and the entry has the type then.
  std::string set_type(Gguf::Entry& entry, std::uint32_t number) const {
    for (const StoredType& known : stored_types) {
      if (known.number != number) continue;
      if (const auto* type = std::get_if<ElementType>(&known.type)) {
        entry.type = *type;
      } else {
        entry.blocks = std::get<BlockType>(known.type);
        if (to_.big_endian_ &&
            std::ranges::count(turned_blocks(), *entry.blocks, &TurnedBlock::type) == 0) {
          return translated("numbers of the type {1}, which are not read from big-endian files",
                            form(*entry.blocks).name);
        }
      }
      return "";
    }
    for (const auto& [refused, name] : refused_types) {
      if (refused != number) continue;
      return translated("numbers of the type {1}, which are not read", name);
    }
    return translated("numbers of the type {1}, which is not known", number);
  }

  // The numbers begin after the list at a multiple of the alignment, and so does each tensor.
  void place_tensors(const std::vector<Placed>& all) {
    const double given = to_.number("general.alignment").value_or(32);
    const auto alignment = given >= 1 && given <= 1 << 20 ? static_cast<std::size_t>(given) : 0;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
      throw input_error(translated("the alignment is not a power of two"), "general.alignment",
                        translated(fetch_again));
    }
    const std::size_t begin = (at_ + alignment - 1) / alignment * alignment;
    const std::size_t room = begin <= bytes_.size() ? bytes_.size() - begin : 0;
    for (const Placed& own : all) {
      if (own.offset > room || own.size > room - own.offset) {
        throw input_error(translated("the {1} bytes of the tensor end after the file", own.size),
                          "tensor " + in_quotes(to_.names_[own.entry]), translated(fetch_again));
      }
      if (own.offset % alignment != 0) {
        throw input_error(
            translated("the numbers of the tensor begin at {1}, not at a multiple of {2}",
                       own.offset, alignment),
            "tensor " + in_quotes(to_.names_[own.entry]), translated(fetch_again));
      }
      to_.entries_[own.entry].bytes =
          bytes_.subspan(own.size == 0 ? 0 : begin + own.offset, own.size);
    }
    refuse_shared_bytes(all);
  }

  void refuse_shared_bytes(std::vector<Placed> all) const {
    std::erase_if(all, [](const Placed& own) { return own.size == 0; });
    std::ranges::sort(all, {}, &Placed::offset);
    for (std::size_t i = 1; i < all.size(); ++i) {
      if (all[i].offset - all[i - 1].offset >= all[i - 1].size) continue;
      throw input_error(
          translated("two tensors share bytes of the file: {1} and {2}",
                     in_quotes(to_.names_[all[i - 1].entry]), in_quotes(to_.names_[all[i].entry])),
          "tensor " + in_quotes(to_.names_[all[i].entry]), translated(fetch_again));
    }
  }

  Gguf& to_;
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  std::set<std::string> seen_;
};

Gguf::Gguf(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : bytes_(bytes), owner_(std::move(owner)) {
  GgufReader(*this).read();
}

RawArray Gguf::raw(std::size_t index) const {
  const Entry& entry = entries_[index];
  RawArray array;
  array.shape = entry.shape;
  array.owner = owner_;
  if (!entry.blocks) {
    array.type = entry.type;
    array.bytes = entry.bytes;
    array.big_endian = big_endian_ && attn::size_of(entry.type) > 1;
    return array;
  }
  const BlockForm& block = form(*entry.blocks);
  const std::size_t blocks = (entry.shape.empty() ? 1 : entry.shape.back()) / block.elements;
  array.stored_as = block.name;
  const std::byte* const from = entry.bytes.data();
  if (!big_endian_) {
    array.in_blocks = {&block, from, blocks};
    array.make_row = [rows = array.in_blocks, owner = owner_](std::size_t row, float* to) {
      rows.form->numbers(rows.row(row), rows.blocks, to);
    };
    return array;
  }
  const auto turned = std::ranges::find(turned_blocks(), *entry.blocks, &TurnedBlock::type);
  array.make_row = [&block, &halves = turned->halves, blocks, from, owner = owner_](std::size_t row,
                                                                                    float* to) {
    const std::byte* const first = from + row * blocks * block.bytes;
    std::vector<std::byte> bytes(first, first + blocks * block.bytes);
    for (std::size_t i = 0; i < blocks; ++i) {
      for (const std::size_t half : halves) {
        std::swap(bytes[i * block.bytes + half], bytes[i * block.bytes + half + 1]);
      }
    }
    block.numbers(bytes.data(), blocks, to);
  };
  return array;
}

std::string Gguf::stored_type(std::size_t index) const {
  return std::string(attn::stored_type(raw(index)));
}

Tensor Gguf::read(std::size_t index) const {
  try {
    return tensor_from(raw(index));
  } catch (const Error& error) {
    throw error.inside("tensor " + in_quotes(names_[index]));
  }
}

std::vector<std::string> Gguf::keys() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : keys_) names.push_back(name);
  return names;
}

const Gguf::Value* Gguf::find(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &found->second;
}

bool Gguf::is_number(Type type) noexcept {
  return type != Type::text && type != Type::array && type != Type::boolean;
}

void Gguf::refuse(std::string_view key, const Value& value, const char* expected) const {
  const bool array = value.type == Type::array;
  const Type type = array ? value.item : value.type;
  const char* there = array ? to_translate("an array of numbers") : to_translate("a number");
  if (type == Type::text)
    there = array ? to_translate("an array of texts") : to_translate("a text");
  if (type == Type::array) there = to_translate("an array of arrays");
  if (type == Type::boolean && !array) there = to_translate("true or false");
  throw input_error(
      translated("this key holds {1}, not {2}", translated(there), translated(expected)),
      std::string(key), translated("convert the model again with llama.cpp"));
}

double Gguf::number_at(Type type, std::size_t at) const {
  const auto as = [&]<class T>(T) {
    return static_cast<double>(number_of<T>(bytes_.data() + at, big_endian_));
  };
  switch (type) {
    case Type::uint8:
    case Type::boolean:
      return as(std::uint8_t{});
    case Type::int8:
      return as(std::int8_t{});
    case Type::uint16:
      return as(std::uint16_t{});
    case Type::int16:
      return as(std::int16_t{});
    case Type::uint32:
      return as(std::uint32_t{});
    case Type::int32:
      return as(std::int32_t{});
    case Type::float32:
      return as(float{});
    case Type::uint64:
      return as(std::uint64_t{});
    case Type::int64:
      return as(std::int64_t{});
    case Type::float64:
      return as(double{});
    case Type::text:
    case Type::array:
      break;
  }
  return 0;
}

namespace {

// Position after the length of a text, of eight bytes.
std::string_view text_at(std::span<const std::byte> bytes, std::size_t at, bool big_endian) {
  const auto length = number_of<std::uint64_t>(bytes.data() + at, big_endian);
  return {reinterpret_cast<const char*>(bytes.data()) + at + sizeof length, length};
}

}  // namespace

std::optional<std::string_view> Gguf::text(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != Type::text) refuse(key, *value, to_translate("a text"));
  return text_at(bytes_, value->at, big_endian_);
}

std::optional<double> Gguf::number(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!is_number(value->type)) refuse(key, *value, to_translate("a number"));
  return number_at(value->type, value->at);
}

std::optional<bool> Gguf::boolean(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != Type::boolean) refuse(key, *value, to_translate("true or false"));
  return number_at(Type::boolean, value->at) != 0;
}

std::vector<std::string_view> Gguf::texts(std::string_view key) const {
  const Value* value = find(key);
  std::vector<std::string_view> items;
  if (value == nullptr) return items;
  const bool empty = value->type == Type::array && value->count == 0;
  if (!empty && (value->type != Type::array || value->item != Type::text)) {
    refuse(key, *value, to_translate("an array of texts"));
  }
  items.reserve(value->count);
  std::size_t at = value->at;
  for (std::uint64_t i = 0; i < value->count; ++i) {
    items.push_back(text_at(bytes_, at, big_endian_));
    at += sizeof(std::uint64_t) + items.back().size();
  }
  return items;
}

std::vector<double> Gguf::numbers(std::string_view key) const {
  const Value* value = find(key);
  std::vector<double> items;
  if (value == nullptr) return items;
  if (is_number(value->type)) return {number_at(value->type, value->at)};
  const bool fits = value->type == Type::array &&
                    (value->count == 0 || is_number(value->item) || value->item == Type::boolean);
  if (!fits) refuse(key, *value, to_translate("an array of numbers"));
  items.reserve(value->count);
  const std::size_t width = GgufReader::size_of(value->item);
  for (std::uint64_t i = 0; i < value->count; ++i) {
    items.push_back(number_at(value->item, value->at + i * width));
  }
  return items;
}

}  // namespace attn
