#include "io/npy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "io/raw_array.hpp"
#include "support/in_quotes.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr const char* save_array_again = to_translate("save the array again with numpy.save");

std::string byte_place(std::size_t offset) {
  return "byte " + std::to_string(offset);
}

struct Descriptor {
  ElementType type;
  bool big_endian;
};

struct Header {
  std::optional<Descriptor> descriptor;
  std::optional<bool> column_major;
  std::optional<Shape> shape;
};

// What a letter of a dtype stands for, of those that hold no real numbers.
std::string refused_kind(char kind) {
  switch (kind) {
    case 'O':
      return translated("Python objects");
    case 'V':
      return translated("structures");
    case 'c':
      return translated("complex numbers");
    case 'S':
    case 'a':
    case 'U':
      return translated("strings");
    case 'M':
    case 'm':
      return translated("dates and times");
    default:
      return "";
  }
}

Descriptor descriptor_of(const std::string& text, std::size_t offset) {
  std::string_view type = text;
  bool big_endian = false;
  if (!type.empty() && std::string_view("<>|=").find(type[0]) != std::string_view::npos) {
    big_endian = type[0] == '>';
    type.remove_prefix(1);
  }
  constexpr std::array<std::pair<std::string_view, ElementType>, 12> types = {{
      {"f2", ElementType::float16},
      {"f4", ElementType::float32},
      {"f8", ElementType::float64},
      {"i1", ElementType::int8},
      {"i2", ElementType::int16},
      {"i4", ElementType::int32},
      {"i8", ElementType::int64},
      {"u1", ElementType::uint8},
      {"u2", ElementType::uint16},
      {"u4", ElementType::uint32},
      {"u8", ElementType::uint64},
      {"b1", ElementType::boolean},
  }};
  for (const auto& [name, element] : types) {
    if (type == name) return {element, big_endian};
  }
  const std::string kind = type.empty() ? "" : refused_kind(type[0]);
  throw input_error(translated("the array holds {1} (dtype {2}), which are no tensor elements",
                               kind.empty() ? translated("elements") : kind, in_quotes(text)),
                    byte_place(offset),
                    translated("convert it first, for example with array.astype(numpy.float32)"));
}

// Reads the Python dictionary of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3,
// 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, std::size_t offset) : text_(text), offset_(offset) {}

  Header read() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::size_t key_at = position();
      const std::string key = string();
      expect(':');
      const std::size_t value_at = position();
      if (key == "descr" && !header.descriptor) {
        if (peek() == '[') {
          throw input_error(translated("the array holds structures, which are no tensor elements"),
                            byte_place(value_at),
                            translated("save its fields as arrays of their own"));
        }
        header.descriptor = descriptor_of(string(), value_at);
      } else if (key == "fortran_order" && !header.column_major) {
        header.column_major = boolean();
      } else if (key == "shape" && !header.shape) {
        header.shape = shape();
      } else {
        fail(translated("an unknown or repeated key {1}", in_quotes(key)), key_at);
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    const std::size_t end = position();
    if (at_ < text_.size()) fail(translated("something after its closing '}'"), end);
    if (!header.descriptor) fail("no 'descr'", offset_);
    if (!header.column_major) fail("no 'fortran_order'", offset_);
    if (!header.shape) fail("no 'shape'", offset_);
    return header;
  }

 private:
  // The next character that is no white space; zero at the end.
  char peek() {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    at_ = std::min(next, text_.size());
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::size_t position() {
    peek();
    return offset_ + at_;
  }

  bool accept(char wanted) {
    if (peek() != wanted || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted))
      fail(translated("no '{1}' where there must be one", std::string(1, wanted)), position());
  }

  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      fail(translated("no string where there must be one"), position());
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(translated("a string without an end"), position());
    std::string result(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return result;
  }

  bool boolean() {
    peek();
    for (const bool truth : {true, false}) {
      const std::string_view word = truth ? "True" : "False";
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return truth;
      }
    }
    fail(translated("neither True nor False where one must be"), position());
  }

  Shape shape() {
    const std::size_t begin = position();
    expect('(');
    Shape result;
    while (!accept(')')) {
      result.push_back(size());
      if (accept(',')) continue;
      if (result.size() == 1) fail(translated("a shape in parentheses without a comma"), begin);
      expect(')');
      break;
    }
    try {
      element_count(result);
    } catch (const Error& error) {
      throw error.inside(byte_place(begin));
    }
    return result;
  }

  std::size_t size() {
    if (peek() == '-') fail(translated("a negative size in its shape"), position());
    if (peek() < '0' || peek() > '9')
      fail(translated("no size in its shape where there must be one"), position());
    const std::size_t begin = position();
    std::size_t result = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<std::size_t>(text_[at_] - '0');
      if (__builtin_mul_overflow(result, std::size_t{10}, &result) ||
          __builtin_add_overflow(result, digit, &result)) {
        fail(translated("a size in its shape that no memory can hold"), begin);
      }
    }
    // Python 2 wrote large integers with an L.
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return result;
  }

  [[noreturn]] void fail(const std::string& what, std::size_t offset) const {
    throw input_error(translated("the header of the .npy file has {1}", what), byte_place(offset),
                      translated(save_array_again));
  }

  std::string_view text_;
  std::size_t offset_;
  std::size_t at_ = 0;
};

[[noreturn]] void throw_cut_off(std::size_t offset) {
  throw input_error(translated("the .npy file is cut off in its header"), byte_place(offset),
                    translated(save_array_again));
}

std::string counted_bytes(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

}  // namespace

Tensor parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                 ElementType* type) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(npy_magic)) {
    throw input_error(translated("this is no .npy file"), byte_place(0),
                      translated(save_array_again));
  }
  constexpr std::size_t version_at = npy_magic.size();
  constexpr std::size_t length_at = version_at + 2;
  if (text.size() < length_at) throw_cut_off(text.size());
  const auto major = std::to_integer<unsigned>(bytes[version_at]);
  const auto minor = std::to_integer<unsigned>(bytes[version_at + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    throw input_error(translated("version {1}.{2} of the .npy format is unknown", major, minor),
                      byte_place(version_at), translated("versions 1.0, 2.0 and 3.0 can be read"));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t header_at = length_at + length_bytes;
  if (text.size() < header_at) throw_cut_off(text.size());
  std::size_t header_bytes = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    header_bytes = header_bytes << 8 | std::to_integer<std::size_t>(bytes[length_at + i]);
  }
  if (header_bytes > text.size() - header_at) {
    throw input_error(translated("the .npy file claims a header of {1}, but ends after {2}",
                                 counted_bytes(header_bytes), text.size() - header_at),
                      byte_place(length_at), translated(save_array_again));
  }
  const Header header = HeaderReader(text.substr(header_at, header_bytes), header_at).read();

  RawArray array;
  array.shape = *header.shape;
  array.type = header.descriptor->type;
  array.big_endian = header.descriptor->big_endian;
  array.column_major = *header.column_major;
  array.owner = std::move(owner);
  const std::size_t data_at = header_at + header_bytes;
  const std::size_t wanted = element_count(array.shape) * size_of(array.type);
  const std::size_t present = text.size() - data_at;
  const std::string claim = translated("the shape {1} of {2} takes {3}", attn::text(array.shape),
                                       name(array.type), counted_bytes(wanted));
  if (present < wanted) {
    throw input_error(
        translated("the .npy file is cut off: {1}, but there are {2}", claim, present),
        byte_place(text.size()), translated(save_array_again));
  }
  if (present > wanted) {
    throw input_error(translated("{1}, but {2} follow the header", claim, present),
                      byte_place(data_at + wanted),
                      translated("a .npy file holds one array: save several with numpy.savez"));
  }
  array.bytes = bytes.subspan(data_at);
  if (type != nullptr) *type = array.type;
  return tensor_from(array);
}

std::string npy_header(const Shape& shape, DType dtype) {
  std::string dictionary = "{'descr': '";
  switch (dtype) {
    case DType::float32:
      dictionary += "<f4";
      break;
    case DType::float64:
      dictionary += "<f8";
      break;
    case DType::int64:
      dictionary += "<i8";
      break;
    case DType::boolean:
      dictionary += "|b1";
      break;
    case DType::float16:
      dictionary += "<f2";
      break;
    case DType::bfloat16:
      break;
  }
  dictionary += "', 'fortran_order': False, 'shape': (";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) dictionary += ' ';
    dictionary += std::to_string(shape[axis]);
    if (axis == 0 || axis + 1 < shape.size()) dictionary += ',';
  }
  dictionary += "), }";
  // NumPy leaves room for the first size to grow to 21 digits in place, and starts the elements at
  // a multiple of 64 bytes.
  constexpr std::size_t longest_size = 21, alignment = 64, preamble = npy_magic.size() + 4;
  if (!shape.empty()) dictionary.append(longest_size - std::to_string(shape[0]).size(), ' ');
  dictionary.append(alignment - (preamble + dictionary.size() + 1) % alignment, ' ');
  dictionary += '\n';

  std::string result(npy_magic);
  result += '\1';
  result += '\0';
  result += static_cast<char>(dictionary.size() & 0xFF);
  result += static_cast<char>(dictionary.size() >> 8);
  return result + dictionary;
}

void write_npy(const Tensor& given, const ByteSink& to) {
  if (!given)
    throw Error(ErrorKind::internal, translated("an absent tensor was written as .npy"), "", "");
  // NumPy has no bfloat16; float32 holds its numbers exactly.
  const Tensor tensor = given.dtype() == DType::bfloat16 ? given.converted(DType::float32) : given;
  to(npy_header(tensor.shape(), tensor.dtype()));
  to({static_cast<const char*>(tensor.bytes()), tensor.size() * size_of(tensor.dtype())});
}

std::string npy_bytes(const Tensor& tensor) {
  std::string bytes;
  write_npy(tensor, [&](std::string_view piece) { bytes += piece; });
  return bytes;
}

}  // namespace attn
