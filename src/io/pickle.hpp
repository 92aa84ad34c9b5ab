#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/raw_array.hpp"

namespace attn {

/// The parts that Python names in the pickles of PyTorch may take.
enum class PickleRole : std::uint8_t {
  dictionary,          ///< makes a dictionary, empty or of pairs
  sizes,               ///< makes its argument, a tuple
  passed_over,         ///< makes what holds no tensors
  tensor,              ///< tensor of a storage, offset, sizes and strides
  tensor_of_dtype,     ///< tensor with the type of its elements among the arguments
  parameter,           ///< its first argument, a tensor
  typed,               ///< its first argument, called with the third
  storage,             ///< class of storages of elements of one type
  byte_storage,        ///< class of storages of bytes
  dtype,               ///< type of elements
  class_name,          ///< class that is an argument only
  default_dictionary,  ///< dictionary whose first argument makes values that are missing
  unread_storage,      ///< class of storages of elements that are not read, of `bytes` each
  storage_bytes,       ///< storage that an own file of PyTorch within a text of bytes holds
  layout,              ///< name of a layout of tensors
  sparse_tensor,       ///< tensor of a layout, indices and values
  numpy_array,         ///< array of NumPy, whose state says what is in it
  numpy_buffer,        ///< array of NumPy of its bytes, their type, a shape and an order
  numpy_scalar,        ///< number of NumPy of a type and bytes
  numpy_type,          ///< type of the elements of arrays of NumPy
  encoded_text,        ///< text as bytes
  byte_text,           ///< bytes, or a text as bytes
  reconstructor,       ///< value of a class, with what a value of a built-in class holds
  unknown_name,        ///< any other name, which makes what nothing is known of
};

struct PickleName {
  std::string_view module, name;
  PickleRole role = PickleRole::passed_over;
  ElementType type = ElementType::float32;  ///< of storages and dtypes
  std::uint8_t bytes = 0;                   ///< of an element that is not read

  /// "torch.complex64"
  std::string text() const { return std::string(module) + "." + std::string(name); }
};

/// One pickle (protocols 0 to 5), of a PyTorch file or alone, read as a tree of values. The opcodes
/// that are known are a closed list, and so are the names that have a meaning: what
/// torch.load(weights_only=True) knows and what arrays of NumPy need. Nothing is ever called or
/// imported: calls are nodes of the tree, those of other names without a meaning.
class Pickle {
 public:
  using Id = std::uint32_t;
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    number,
    text,
    bytes,
    other,       ///< what holds no tensors: sets, devices…
    sequence,    ///< list or tuple
    dictionary,  ///< keys and values in turn
    name,
    call,    ///< a name, its arguments, a sequence, and what else it was given
    stored,  ///< persistent id: a sequence
    object,  ///< value of an unknown class, and the items of a tuple that it is
  };
  struct Value {
    Kind kind = Kind::none;
    std::size_t at = 0;  ///< byte of the opcode that made it
    union {
      std::int64_t integer = 0;  ///< also of booleans
      double number;
    };
    std::string_view text;  ///< of texts; the bytes of long integers and of bytes
    std::vector<Id> items;
    const PickleName* name = nullptr;  ///< of names, calls, objects and containers of a class
  };

  /// Reads the pickle that begins at byte `begin`. `place` names the file's part in errors.
  /// Throws Error(input) at the byte for opcodes that are not in the list, for names of what starts
  /// programs, for what contradicts itself, for texts beyond the end and for more than eight
  /// million values.
  Pickle(std::span<const std::byte> bytes, std::size_t begin, std::string place);

  const Value& value(Id id) const { return values_[id]; }
  Id count() const noexcept { return static_cast<Id>(values_.size()); }
  Id root() const noexcept { return root_; }
  /// The byte after the pickle.
  std::size_t end() const noexcept { return at_; }

  /// Throws Error(input) at the value's byte.
  [[noreturn]] void refuse(const std::string& problem, std::size_t at) const;

 private:
  friend class PickleMachine;

  std::deque<Value> values_;
  std::deque<std::string> texts_;  // that do not stand in the bytes as they are
  std::map<std::pair<std::string_view, std::string_view>, PickleName> unknown_;
  Id root_ = 0;
  std::size_t at_ = 0;
  std::string place_;
};

// Spelling of names, texts and bytes in pickles, beside the opcodes of PickleMachine.

/// The part that a name has in files of tensors, of a closed list; null for any other name.
const PickleName* find_pickle_name(std::string_view module, std::string_view name);

/// Whether a pickle that names this is made to start a program, which no file of tensors is.
bool starts_programs(std::string_view module, std::string_view name);

/// Text of Python's "raw-unicode-escape": Latin-1, with \uXXXX and \UXXXXXXXX. Absent if the line
/// is no such text.
std::optional<std::string> unescaped_unicode(std::string_view line);

/// Bytes that Python's repr() wrote: 'a\x00b'. Absent if it did not.
std::optional<std::string> unquoted(std::string_view line);

/// Bytes of a text whose characters are bytes. Absent if one is none.
std::optional<std::string> latin_1(std::string_view utf8);

/// An opcode for errors, with its name if it is one that is not read: "INST (0x69)".
std::string opcode_text(char opcode);

}  // namespace attn
