#include "io/numpy.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr const char* save_array_again = to_translate("save the array again with numpy.save");

std::string byte_place(std::size_t offset) {
  return "byte " + std::to_string(offset);
}

struct Header {
  std::optional<NumpyType> descriptor;
  std::size_t descriptor_at = 0;  // in the file
  std::optional<bool> column_major;
  std::optional<Shape> shape;
};

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
        header.descriptor = peek() == '[' ? structure() : numpy_type_of(string());
        header.descriptor_at = value_at;
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
    if (!header.descriptor) fail(translated("no {1}", "'descr'"), offset_);
    if (!header.column_major) fail(translated("no {1}", "'fortran_order'"), offset_);
    if (!header.shape) fail(translated("no {1}", "'shape'"), offset_);
    return header;
  }

 private:
  // Next character that is no white space; zero at the end.
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

  // The fields of a structure, which are not read.
  NumpyType structure() {
    const std::size_t begin = position();
    std::size_t open = 0;
    do {
      const char c = peek();
      if (c == '\0') fail(translated("a list without an end"), begin);
      if (c == '\'' || c == '"') {
        string();
        continue;
      }
      open += c == '[' ? 1 : 0;
      open -= c == ']' ? 1 : 0;
      ++at_;
    } while (open > 0);
    return {std::nullopt, false, "V"};
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
    // Python 2 writes large integers with an L.
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

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string counted_bytes(std::size_t count) {
  return translated_count(count, "{1} byte", "{1} bytes");
}

// Meaning of a dtype's letter for dtypes without real numbers.
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

// Code without the sign of the bytes' order.
std::string_view without_order(std::string_view code) {
  const bool has = !code.empty() && std::string_view("<>|=").find(code[0]) != code.npos;
  return code.substr(has ? 1 : 0);
}

}  // namespace

NumpyType numpy_type_of(std::string_view code) {
  NumpyType own;
  own.code = code;
  own.big_endian = code.starts_with('>');
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
    if (without_order(code) == name) own.type = element;
  }
  return own;
}

bool NumpyType::holds_texts() const {
  const std::string_view kind = without_order(code);
  return kind.starts_with('U') || kind.starts_with('S');
}

std::string NumpyType::reason() const {
  const std::string_view kind = without_order(code);
  std::string what = kind.empty() ? "" : refused_kind(kind[0]);
  if (what.empty()) what = translated("elements");
  return kind == "V" ? what : translated("{1} (dtype {2})", what, in_quotes(code));
}

std::vector<std::vector<std::string>> numpy_texts(const NumpyType& type, const Shape& shape,
                                                  std::span<const std::byte> bytes,
                                                  bool column_major) {
  const std::string_view code = without_order(type.code);
  constexpr std::size_t most_texts = 100'000, longest = 1000;
  std::size_t characters = 0;
  if (!type.holds_texts() || shape.empty() || shape.size() > 2 ||
      (column_major && shape.size() > 1) || !parse_number(code.substr(1), characters) ||
      characters == 0 || characters > longest) {
    return {};
  }
  const std::size_t count = element_count(shape), width = characters * (code[0] == 'U' ? 4 : 1);
  if (count == 0 || count > most_texts || bytes.size() != count * width) return {};
  std::vector<std::vector<std::string>> texts(shape.size() == 1 ? 1 : shape[0]);
  for (std::size_t i = 0; i < count; ++i) {
    std::string one;
    const std::byte* const from = bytes.data() + i * width;
    for (std::size_t k = 0; k < characters; ++k) {
      char32_t character = 0;
      for (std::size_t byte = 0; code[0] == 'U' && byte < 4; ++byte) {
        const std::size_t at = 4 * k + (type.big_endian ? byte : 3 - byte);
        character = character << 8U | std::to_integer<char32_t>(from[at]);
      }
      if (code[0] == 'S') {
        one += static_cast<char>(std::to_integer<unsigned char>(from[k]));
        continue;
      }
      if (character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) return {};
      append_utf8(one, character);
    }
    one.resize(one.find_last_not_of('\0') + 1);
    texts[i * texts.size() / count].push_back(printable(one));
  }
  return texts;
}

bool looks_like_npy(std::span<const std::byte> bytes) noexcept {
  return text_of(bytes).starts_with(npy_magic);
}

NpyContent npy_content(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  if (!looks_like_npy(bytes)) {
    throw input_error(translated("this is not a .npy file"), byte_place(0),
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
  return {*header.descriptor, header.descriptor_at, *header.shape, *header.column_major,
          header_at + header_bytes};
}

RawArray npy_array(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  const NpyContent content = npy_content(bytes);
  if (!content.type.type) {
    throw input_error(
        translated("the array holds {1}, which cannot be elements of a tensor",
                   content.type.reason()),
        byte_place(content.type_at),
        content.type.code == "V" ? translated("save its fields as arrays of their own")
        : content.type.code.ends_with('O')
            ? translated("save each array in it alone, with numpy.savez(\"maps.npz\", a=…, b=…)")
        : without_order(content.type.code) == "V2"
            ? translated("if they are bfloat16 numbers, save them as float32: "
                         "array.view(ml_dtypes.bfloat16).astype(numpy.float32)")
        : content.type.code.find('c') != std::string::npos
            ? translated("save array.real, array.imag or abs(array)")
        : content.type.holds_texts()
            ? translated("texts may be labels: save them one per line, for MapRequest::labels")
            : translated("convert it first, for example with array.astype(numpy.float32)"));
  }
  RawArray array;
  array.shape = content.shape;
  array.type = *content.type.type;
  array.big_endian = content.type.big_endian;
  array.column_major = content.column_major;
  array.owner = std::move(owner);
  const std::size_t wanted = element_count(array.shape) * size_of(array.type);
  const std::size_t present = bytes.size() - content.data_at;
  const std::string claim = translated("the shape {1} of {2} takes {3}", attn::text(array.shape),
                                       name(array.type), counted_bytes(wanted));
  if (present < wanted) {
    throw input_error(
        translated("the .npy file is cut off: {1}, but there are {2}", claim, present),
        byte_place(bytes.size()), translated(save_array_again));
  }
  if (present > wanted) {
    throw input_error(translated("{1}, but {2} follow the header", claim, present),
                      byte_place(content.data_at + wanted),
                      translated("a .npy file holds one array: save several with numpy.savez"));
  }
  array.bytes = bytes.subspan(content.data_at);
  return array;
}

Npy::Npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  const RawArray array = npy_array(bytes, std::move(owner));
  type_ = array.type;
  tensor_ = tensor_from(array);
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
  // NumPy leaves room for a first size of 21 digits, and elements start at a multiple of 64 bytes.
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
  // NumPy has no bfloat16, whose numbers float32 holds exactly.
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
