#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/raw_array.hpp"

namespace attn {

/// The parts that Python names in the pickles of PyTorch may take.
enum class PickleRole : std::uint8_t {
  dictionary,       ///< makes a dictionary, empty or of pairs
  sizes,            ///< makes its argument, a tuple
  passed_over,      ///< makes what holds no tensors
  tensor,           ///< tensor of a storage, offset, sizes and strides
  tensor_of_dtype,  ///< tensor with the type of its elements among the arguments
  parameter,        ///< its first argument, a tensor
  typed,            ///< its first argument, called with the third
  storage,          ///< class of storages of elements of one type
  byte_storage,     ///< class of storages of bytes
  dtype,            ///< type of elements
  class_name,       ///< class that is an argument only
};

struct PickleName {
  std::string_view module, name;
  PickleRole role = PickleRole::passed_over;
  ElementType type = ElementType::float32;  ///< of storages and dtypes
};

/// One pickle of a PyTorch file (protocols 2 to 5), read as a tree of values. A closed list of
/// opcodes and of names is known, a part of what torch.load(weights_only=True) knows. Nothing is
/// ever called or imported: calls of the listed names are nodes of the tree.
class Pickle {
 public:
  using Id = std::uint32_t;
  enum class Kind : std::uint8_t {
    none,
    boolean,
    integer,
    text,
    other,       ///< what holds no tensors: numbers, bytes, sets…
    sequence,    ///< list or tuple
    dictionary,  ///< keys and values in turn
    name,
    call,    ///< a name and its arguments, a sequence
    stored,  ///< persistent id: a sequence
  };
  struct Value {
    Kind kind = Kind::none;
    std::size_t at = 0;        ///< byte of the opcode that made it
    std::int64_t integer = 0;  ///< also of booleans
    std::string_view text;     ///< of texts; the bytes of long integers and of bytes
    std::vector<Id> items;
    const PickleName* name = nullptr;  ///< of names and calls
  };

  /// Reads the pickle that begins at byte `begin`. `place` names the file's part in errors.
  /// Throws Error(input) at the byte for opcodes and names that are not in the lists, for what
  /// contradicts itself, for texts beyond the end and for more than eight million values.
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
  Id root_ = 0;
  std::size_t at_ = 0;
  std::string place_;
};

}  // namespace attn
