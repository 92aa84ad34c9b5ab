#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "io/pickle.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

using enum PickleRole;
constexpr auto known_names = std::to_array<PickleName>({
    {"collections", "OrderedDict", dictionary},
    {"collections", "Counter", dictionary},
    {"collections", "defaultdict", default_dictionary},
    {"torch", "Size", sizes},
    {"torch", "device", passed_over},
    {"torch.serialization", "_get_layout", layout},
    {"_codecs", "encode", encoded_text},
    {"builtins", "set", passed_over},
    {"__builtin__", "set", passed_over},
    {"builtins", "bytearray", byte_text},
    {"__builtin__", "bytearray", byte_text},
    {"builtins", "bytes", byte_text},
    {"__builtin__", "bytes", byte_text},
    {"builtins", "complex", passed_over},
    {"__builtin__", "complex", passed_over},
    {"torch._utils", "_rebuild_tensor", tensor},
    {"torch._utils", "_rebuild_tensor_v2", tensor},
    {"torch._utils", "_rebuild_tensor_v3", tensor_of_dtype},
    {"torch._utils", "_rebuild_parameter", parameter},
    {"torch._utils", "_rebuild_parameter_with_state", parameter},
    {"torch._tensor", "_rebuild_from_type_v2", typed},
    {"torch._utils", "_rebuild_sparse_tensor", sparse_tensor},
    {"torch.storage", "_load_from_bytes", storage_bytes},
    {"copyreg", "_reconstructor", reconstructor},
    {"copy_reg", "_reconstructor", reconstructor},
    {"numpy.core.multiarray", "_reconstruct", numpy_array},
    {"numpy._core.multiarray", "_reconstruct", numpy_array},
    {"numpy.core.multiarray", "scalar", numpy_scalar},
    {"numpy._core.multiarray", "scalar", numpy_scalar},
    {"numpy.core.numeric", "_frombuffer", numpy_buffer},
    {"numpy._core.numeric", "_frombuffer", numpy_buffer},
    {"numpy", "dtype", numpy_type},
    {"numpy", "ndarray", class_name},
    {"torch", "Tensor", class_name},
    {"torch.nn.parameter", "Parameter", class_name},
    {"torch.nn.parameter", "Buffer", class_name},
    {"torch", "FloatStorage", storage, ElementType::float32},
    {"torch", "DoubleStorage", storage, ElementType::float64},
    {"torch", "HalfStorage", storage, ElementType::float16},
    {"torch", "BFloat16Storage", storage, ElementType::bfloat16},
    {"torch", "LongStorage", storage, ElementType::int64},
    {"torch", "IntStorage", storage, ElementType::int32},
    {"torch", "ShortStorage", storage, ElementType::int16},
    {"torch", "CharStorage", storage, ElementType::int8},
    {"torch", "ByteStorage", storage, ElementType::uint8},
    {"torch", "BoolStorage", storage, ElementType::boolean},
    {"torch", "ComplexFloatStorage", unread_storage, ElementType::uint8, 8},
    {"torch", "ComplexDoubleStorage", unread_storage, ElementType::uint8, 16},
    {"torch", "QInt8Storage", unread_storage, ElementType::uint8, 1},
    {"torch", "QUInt8Storage", unread_storage, ElementType::uint8, 1},
    {"torch", "QInt32Storage", unread_storage, ElementType::uint8, 4},
    {"torch", "UntypedStorage", byte_storage, ElementType::uint8},
    {"torch.storage", "UntypedStorage", byte_storage, ElementType::uint8},
    {"torch", "float32", dtype, ElementType::float32},
    {"torch", "float64", dtype, ElementType::float64},
    {"torch", "float16", dtype, ElementType::float16},
    {"torch", "bfloat16", dtype, ElementType::bfloat16},
    {"torch", "int64", dtype, ElementType::int64},
    {"torch", "int32", dtype, ElementType::int32},
    {"torch", "int16", dtype, ElementType::int16},
    {"torch", "int8", dtype, ElementType::int8},
    {"torch", "uint8", dtype, ElementType::uint8},
    {"torch", "uint16", dtype, ElementType::uint16},
    {"torch", "uint32", dtype, ElementType::uint32},
    {"torch", "uint64", dtype, ElementType::uint64},
    {"torch", "bool", dtype, ElementType::boolean},
});

// Names of opcodes that are not read, for errors (Python's Lib/pickle.py).
constexpr auto refused_opcodes = std::to_array<std::pair<char, std::string_view>>({
    {'P', "PERSID"},
    {'i', "INST"},
    {'o', "OBJ"},
    {'\x82', "EXT1"},
    {'\x83', "EXT2"},
    {'\x84', "EXT4"},
    {'\x97', "NEXT_BUFFER"},
    {'\x98', "READONLY_BUFFER"},
});

}  // namespace

// Classes of tensors on a graphics card were in a module of their own.
const PickleName* find_pickle_name(std::string_view module, std::string_view name) {
  if (module == "torch.cuda" && name.ends_with("Storage")) module = "torch";
  const auto found = std::ranges::find_if(known_names, [&](const PickleName& known) {
    return known.module == module && known.name == name;
  });
  return found == known_names.end() ? nullptr : &*found;
}

bool starts_programs(std::string_view module, std::string_view name) {
  constexpr auto modules = std::to_array<std::string_view>(
      {"os", "posix", "nt", "sys", "subprocess", "pty", "runpy", "importlib", "shutil", "socket"});
  constexpr auto functions = std::to_array<std::string_view>(
      {"eval", "exec", "execfile", "compile", "__import__", "open"});
  if (module == "builtins" || module == "__builtin__") {
    return std::ranges::count(functions, name) > 0;
  }
  return std::ranges::count(modules, module.substr(0, module.find('.'))) > 0;
}

std::optional<std::string> unescaped_unicode(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t digits = line[i] != '\\' || i + 1 == line.size() ? 0
                               : line[i + 1] == 'u'                    ? 4
                               : line[i + 1] == 'U'                    ? 8
                                                                       : 0;
    if (digits == 0) {
      append_utf8(text, static_cast<unsigned char>(line[i]));
      continue;
    }
    const std::string_view code = line.substr(i + 2, digits);
    std::uint32_t character = 0;
    const auto read = std::from_chars(code.data(), code.data() + code.size(), character, 16);
    const bool whole = code.size() == digits && read.ptr == code.data() + digits;
    if (!whole || character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) {
      return std::nullopt;
    }
    append_utf8(text, character);
    i += digits + 1;
  }
  return text;
}

std::optional<std::string> unquoted(std::string_view line) {
  if (line.size() < 2 || line.front() != line.back() || (line[0] != '\'' && line[0] != '"')) {
    return std::nullopt;
  }
  line = line.substr(1, line.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      text += line[i];
      continue;
    }
    if (++i == line.size()) return std::nullopt;
    constexpr std::string_view letters = "nrt\\'\"", meant = "\n\r\t\\'\"";
    if (const std::size_t at = letters.find(line[i]); at != letters.npos) {
      text += meant[at];
      continue;
    }
    const std::string_view code = line.substr(std::min(i + 1, line.size()), 2);
    unsigned byte = 0;
    const auto read = std::from_chars(code.data(), code.data() + code.size(), byte, 16);
    if (line[i] != 'x' || code.size() != 2 || read.ptr != code.data() + 2) return std::nullopt;
    text += static_cast<char>(byte);
    i += 2;
  }
  return text;
}

std::optional<std::string> latin_1(std::string_view utf8) {
  std::string bytes;
  for (std::size_t at = 0; at < utf8.size();) {
    const Utf8Character character = first_character(utf8.substr(at));
    if (character.bytes == 0 || character.code > 0xFF) return std::nullopt;
    bytes += static_cast<char>(character.code);
    at += character.bytes;
  }
  return bytes;
}

std::string opcode_text(char opcode) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(opcode);
  std::string text = "0x";
  text += digits[byte >> 4U];
  text += digits[byte & 0xFU];
  for (const auto& [known, name] : refused_opcodes) {
    if (known == opcode) return std::string(name) + " (" + text + ")";
  }
  return text;
}

}  // namespace attn
