#include "io/numpy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "io/raw_array.hpp"
#include "io/zip_archive.hpp"
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

}  // namespace

namespace {

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
  if (code.empty() || (code[0] != 'U' && code[0] != 'S') || shape.empty() || shape.size() > 2 ||
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

bool looks_like_zip(std::span<const std::byte> bytes) noexcept {
  const std::string_view text = text_of(bytes);
  return text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");
}

namespace {

// Reads the beginning of a .npy file, which may be without its elements.
std::pair<Header, std::size_t> npy_header_of(std::span<const std::byte> bytes) {
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
  return {HeaderReader(text.substr(header_at, header_bytes), header_at).read(),
          header_at + header_bytes};
}

}  // namespace

RawArray npy_array(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  const auto [header, data_at] = npy_header_of(bytes);
  if (!header.descriptor->type) {
    const bool structures = header.descriptor->code == "V";
    throw input_error(
        translated("the array holds {1}, which cannot be elements of a tensor",
                   header.descriptor->reason()),
        byte_place(header.descriptor_at),
        structures ? translated("save its fields as arrays of their own")
                   : translated("convert it first, for example with array.astype(numpy.float32)"));
  }
  RawArray array;
  array.shape = *header.shape;
  array.type = *header.descriptor->type;
  array.big_endian = header.descriptor->big_endian;
  array.column_major = *header.column_major;
  array.owner = std::move(owner);
  const std::size_t wanted = element_count(array.shape) * size_of(array.type);
  const std::size_t present = bytes.size() - data_at;
  const std::string claim = translated("the shape {1} of {2} takes {3}", attn::text(array.shape),
                                       name(array.type), counted_bytes(wanted));
  if (present < wanted) {
    throw input_error(
        translated("the .npy file is cut off: {1}, but there are {2}", claim, present),
        byte_place(bytes.size()), translated(save_array_again));
  }
  if (present > wanted) {
    throw input_error(translated("{1}, but {2} follow the header", claim, present),
                      byte_place(data_at + wanted),
                      translated("a .npy file holds one array: save several with numpy.savez"));
  }
  array.bytes = bytes.subspan(data_at);
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

namespace {

constexpr std::string_view extension = ".npy";
constexpr const char* save_archive_again = to_translate("save the arrays again with numpy.savez");

// Writes an archive into memory.
class ArchiveWriter {
 public:
  ArchiveWriter() {
    ZipError error;
    source_ = zip_source_buffer_create(nullptr, 0, 0, error.get());
    if (source_ == nullptr) fail(error.text());
    // The archive frees the source when it is closed, but its bytes are read afterwards.
    zip_source_keep(source_);
    archive_.reset(zip_open_from_source(source_, ZIP_TRUNCATE, error.get()));
    if (!archive_) {
      zip_source_free(source_);
      fail_and_free(error.text());
    }
  }
  ~ArchiveWriter() {
    archive_.reset();
    zip_source_free(source_);
  }
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  // `contents` must live until finish() has returned.
  void add(const std::string& name, std::string_view contents) {
    zip_source_t* source = zip_source_buffer(archive_.get(), contents.data(), contents.size(), 0);
    if (source == nullptr) fail(zip_strerror(archive_.get()));
    const zip_int64_t index = zip_file_add(archive_.get(), name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      fail(zip_strerror(archive_.get()));
    }
    // The first date of zip archives, so that equal tensors give equal bytes.
    constexpr zip_uint16_t first_of_january_1980 = 1 << 5 | 1;
    const auto entry = static_cast<zip_uint64_t>(index);
    if (zip_set_file_compression(archive_.get(), entry, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive_.get(), entry, 0, first_of_january_1980, 0) != 0) {
      fail(zip_strerror(archive_.get()));
    }
  }

  std::string finish() {
    if (zip_close(archive_.get()) != 0) fail(zip_strerror(archive_.get()));
    static_cast<void>(archive_.release());
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_source_stat(source_, &status) != 0 || zip_source_open(source_) != 0) fail_to_read();
    std::string bytes(status.size, '\0');
    const zip_int64_t count = zip_source_read(source_, bytes.data(), bytes.size());
    zip_source_close(source_);
    if (count < 0 || static_cast<std::uint64_t>(count) != bytes.size()) fail_to_read();
    return bytes;
  }

 private:
  [[noreturn]] static void fail(const std::string& reason) {
    throw Error(ErrorKind::internal, translated("cannot create a zip archive: {1}", reason), "",
                "");
  }
  [[noreturn]] void fail_and_free(const std::string& reason) {
    zip_source_free(source_);
    fail(reason);
  }
  [[noreturn]] void fail_to_read() { fail(zip_error_strerror(zip_source_error(source_))); }

  zip_source_t* source_;
  Archive archive_;
};

constexpr MemberAdvice advice{
    save_archive_again, to_translate("save it with numpy.savez or numpy.savez_compressed"),
    to_translate("save it as a .npy file, which need not be unpacked, or raise the limit with "
                 "Limits::unpacked_bytes"),
    to_translate("save it as a .npy file, which need not be unpacked")};

}  // namespace

Npz::Npz(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const Limits& limits)
    : bytes_(bytes), owner_(std::move(owner)), limits_(limits) {
  const Archive archive = open_archive(bytes);
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  bool arrays = false;
  std::uint64_t stored_bytes = 0;
  for (std::uint64_t i = 0; std::cmp_less(i, entries); ++i) {
    const char* const given = zip_get_name(archive.get(), i, 0);
    if (given == nullptr) {
      throw input_error(
          translated("the zip archive cannot be read: {1}", zip_strerror(archive.get())), "",
          translated("the file is damaged: copy or download it again"));
    }
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_stat_index(archive.get(), i, 0, &status) == 0 &&
        (status.valid & ZIP_STAT_COMP_SIZE) != 0 &&
        (__builtin_add_overflow(stored_bytes, status.comp_size, &stored_bytes) ||
         stored_bytes > bytes.size())) {
      // Members that share bytes would unpack them many times.
      throw input_error(translated("the members of the zip archive overlap"), "",
                        translated(save_archive_again));
    }
    std::string name = given;
    if (name.ends_with('/')) continue;
    if (name.ends_with(extension)) {
      arrays = true;
      name.resize(name.size() - extension.size());
    }
    names_.push_back(std::move(name));
    members_.push_back(i);
  }
  if (!arrays && !names_.empty()) {
    throw input_error(translated("this is a zip archive without a .npy file"), "",
                      translated("a .npz file is what numpy.savez writes"));
  }
  std::vector<std::string_view> sorted(names_.begin(), names_.end());
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) {
    throw input_error(translated("the zip archive holds {1} twice", in_quotes(*repeated)), "",
                      translated(save_archive_again));
  }
  set_others_aside(archive.get());
}

// Takes members out of the tensors that hold no numbers by their headers.
void Npz::set_others_aside(zip_t* archive) {
  std::vector<std::string> names;
  std::vector<std::uint64_t> members;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::optional<NpyContent> content = content_of(archive, members_[i]);
    if (!content || (content->type.type && element_count(content->shape) > 0)) {
      names.push_back(std::move(names_[i]));
      members.push_back(members_[i]);
      continue;
    }
    OtherMember& other = others_.emplace_back();
    other.name = names_[i];
    if (content->type.type) {
      other.reason = empty_reason(content->shape);
      continue;
    }
    other.reason = content->type.reason();
    const std::string_view code = without_order(content->type.code);
    if (!code.starts_with('U') && !code.starts_with('S')) continue;
    other.texts = [bytes = bytes_, owner = owner_, limits = limits_, member = members_[i],
                   own = *content] {
      const Archive again = open_archive(bytes);
      const UnpackedMember whole = unpacked_member(again.get(), member, limits, advice);
      return numpy_texts(own.type, own.shape, whole.bytes.subspan(own.data_at), own.column_major);
    };
  }
  names_ = std::move(names);
  members_ = std::move(members);
}

// What the header of a member says; absent for one that is damaged, which is told as it is read.
std::optional<Npz::NpyContent> Npz::content_of(zip_t* archive, std::uint64_t member) {
  constexpr std::size_t most_header = 1 << 16;
  std::vector<std::byte> start(most_header);
  zip_file_t* const file = zip_fopen_index(archive, member, 0);
  if (file == nullptr) return std::nullopt;
  std::size_t used = 0;
  // Headers are short: what does not fit into the first bytes is read in a second step.
  for (const std::size_t wanted : {std::size_t{256}, most_header}) {
    const zip_int64_t count = zip_fread(file, start.data() + used, wanted - used);
    used += count > 0 ? static_cast<std::size_t>(count) : 0;
    const bool whole = used < wanted;
    try {
      auto [header, data_at] = npy_header_of(std::span(start).first(used));
      zip_fclose(file);
      return NpyContent{*header.descriptor, *header.shape, *header.column_major, data_at};
    } catch (const Error&) {
      if (whole) break;
    }
  }
  zip_fclose(file);
  return std::nullopt;
}

RawArray Npz::raw(std::size_t index) const {
  // A libzip handle belongs to one thread at a time; opening one reads the table of contents only.
  const Archive archive = open_archive(bytes_);
  const UnpackedMember member = unpacked_member(archive.get(), members_[index], limits_, advice);
  return npy_array(member.bytes, member.owner);
}

Tensor Npz::read(std::size_t index) const {
  try {
    const RawArray array = raw(index);
    check_element_limit(element_count(array.shape), limits_.elements, "");
    return tensor_from(array);
  } catch (const Error& error) {
    throw error.inside("member " + in_quotes(names_[index]));
  }
}

std::string Npz::stored_type(std::size_t index) const {
  try {
    return name(raw(index).type);
  } catch (const Error& error) {
    throw error.inside("member " + in_quotes(names_[index]));
  }
}

std::string npz_bytes(std::span<const NamedTensor> tensors) {
  if (tensors.empty()) {
    // libzip writes no archive without members; this is the record of an empty table of contents.
    std::string empty(22, '\0');
    return empty.replace(0, 4, "PK\x05\x06");
  }
  std::vector<std::string> members;
  members.reserve(tensors.size());
  for (const NamedTensor& named : tensors) members.push_back(npy_bytes(named.tensor));
  ArchiveWriter archive;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    archive.add(tensors[i].name + std::string(extension), members[i]);
  }
  return archive.finish();
}

}  // namespace attn
