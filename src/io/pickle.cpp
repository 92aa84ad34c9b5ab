#include "io/pickle.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

constexpr std::size_t most_values = 8'000'000;
constexpr const char* save_plainly = to_translate(
    "nothing in a pickle is ever called: save tensors alone, in dicts, lists and tuples, with "
    "torch.save(model.state_dict(), …), or as .safetensors");

using enum PickleRole;
constexpr auto known_names = std::to_array<PickleName>({
    {"collections", "OrderedDict", dictionary},
    {"collections", "Counter", dictionary},
    {"torch", "Size", sizes},
    {"torch", "device", passed_over},
    {"torch.serialization", "_get_layout", passed_over},
    {"_codecs", "encode", passed_over},
    {"builtins", "set", passed_over},
    {"__builtin__", "set", passed_over},
    {"builtins", "bytearray", passed_over},
    {"__builtin__", "bytearray", passed_over},
    {"builtins", "complex", passed_over},
    {"__builtin__", "complex", passed_over},
    {"torch._utils", "_rebuild_tensor", tensor},
    {"torch._utils", "_rebuild_tensor_v2", tensor},
    {"torch._utils", "_rebuild_tensor_v3", tensor_of_dtype},
    {"torch._utils", "_rebuild_parameter", parameter},
    {"torch._utils", "_rebuild_parameter_with_state", parameter},
    {"torch._tensor", "_rebuild_from_type_v2", typed},
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

// Classes of tensors on a graphics card were in a module of their own.
const PickleName* find_name(std::string_view module, std::string_view name) {
  if (module == "torch.cuda" && name.ends_with("Storage")) module = "torch";
  const auto found = std::ranges::find_if(known_names, [&](const PickleName& known) {
    return known.module == module && known.name == name;
  });
  return found == known_names.end() ? nullptr : &*found;
}

// Names of opcodes that are not read, for errors (Python's Lib/pickle.py).
constexpr auto refused_opcodes = std::to_array<std::pair<char, std::string_view>>({
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'P', "PERSID"},
    {'S', "STRING"},
    {'V', "UNICODE"},
    {'d', "DICT"},
    {'g', "GET"},
    {'i', "INST"},
    {'l', "LIST"},
    {'o', "OBJ"},
    {'p', "PUT"},
    {'\x82', "EXT1"},
    {'\x83', "EXT2"},
    {'\x84', "EXT4"},
    {'\x92', "NEWOBJ_EX"},
    {'\x97', "NEXT_BUFFER"},
    {'\x98', "READONLY_BUFFER"},
});

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

}  // namespace

/// The stack machine that a pickle is a program for, with values in the place of objects.
class PickleMachine {
 public:
  PickleMachine(Pickle& to, std::string_view bytes) : to_(to), bytes_(bytes) {}

  void run() {
    constexpr std::size_t between_checks = 1 << 12;
    for (std::size_t steps = 0; !step(); ++steps) {
      if (steps % between_checks == 0) check_time();
    }
  }

 private:
  using Id = Pickle::Id;
  using Kind = Pickle::Kind;
  using Value = Pickle::Value;

  [[noreturn]] void refuse(const std::string& problem) const { to_.refuse(problem, opcode_at_); }

  // ---- Bytes ------------------------------------------------------------------------------------

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - to_.at_) {
      refuse(translated("the pickle ends before {1} bytes that it announces", count));
    }
    const std::string_view taken = bytes_.substr(to_.at_, count);
    to_.at_ += count;
    return taken;
  }

  std::uint64_t number(std::size_t bytes) {
    const std::string_view taken = take(bytes);
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;) {
      value = value << 8U | static_cast<unsigned char>(taken[i]);
    }
    return value;
  }

  std::string_view line() {
    const std::size_t end = bytes_.find('\n', to_.at_);
    if (end == bytes_.npos) refuse(translated("the pickle ends within a name"));
    const std::string_view taken = take(end - to_.at_);
    ++to_.at_;
    return taken;
  }

  // ---- The stack --------------------------------------------------------------------------------

  Value& push(Kind kind) {
    if (to_.values_.size() >= most_values) {
      refuse(translated("the pickle makes more than {1} values", most_values));
    }
    stack_.push_back(static_cast<Id>(to_.values_.size()));
    Value& made = to_.values_.emplace_back();
    made.kind = kind;
    made.at = opcode_at_;
    return made;
  }

  void push_integer(std::int64_t integer) { push(Kind::integer).integer = integer; }
  void push_text(Kind kind, std::uint64_t count) { push(kind).text = take(count); }

  Id pop() {
    expect(1);
    const Id top = stack_.back();
    stack_.pop_back();
    return top;
  }

  // The values since the last mark.
  std::vector<Id> pop_marked() {
    if (marks_.empty())
      refuse(translated("the pickle takes values from its stack that are not there"));
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    std::vector<Id> taken(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark);
    return taken;
  }

  // Values below the last mark are out of reach.
  void expect(std::size_t count) const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() - floor >= count) return;
    refuse(translated("the pickle takes values from its stack that are not there"));
  }

  Value& top(Kind kind) {
    expect(1);
    Value& value = to_.values_[stack_.back()];
    if (value.kind != kind)
      refuse(translated("the pickle adds to a value that is not a container"));
    return value;
  }

  void tuple(std::size_t count) {
    expect(count);
    std::vector<Id> items(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    push(Kind::sequence).items = std::move(items);
  }

  // ---- The memo ---------------------------------------------------------------------------------

  void put(std::uint64_t place) {
    expect(1);
    // Each place takes an opcode.
    if (place >= bytes_.size()) refuse(translated("the pickle keeps a value in place {1}", place));
    memo_[place] = stack_.back();
  }

  void get(std::uint64_t place) {
    const auto kept = memo_.find(place);
    if (kept == memo_.end()) refuse(translated("the pickle keeps no value in place {1}", place));
    stack_.push_back(kept->second);
  }

  // ---- Names and what they make -----------------------------------------------------------------

  void push_name(std::string_view module, std::string_view name) {
    const PickleName* known = find_name(module, name);
    if (known == nullptr) {
      const std::string whole = in_quotes(std::string(module) + "." + std::string(name));
      if (name.starts_with("Complex") || name.starts_with("complex")) {
        refuse(translated("the pickle names {1}: complex numbers are not read", whole));
      }
      refuse(translated("the pickle names {1}, which is not in the list of what is read", whole));
    }
    push(Kind::name).name = known;
  }

  void push_stacked_name() {
    const Id name = pop(), module = pop();
    for (const Id part : {module, name}) {
      if (to_.values_[part].kind != Kind::text)
        refuse(translated("the pickle names something by a value that is not text"));
    }
    push_name(to_.values_[module].text, to_.values_[name].text);
  }

  void make() {
    const Id arguments = pop(), callee = pop();
    const Value& called = to_.values_[callee];
    const Value& given = to_.values_[arguments];
    if (called.kind != Kind::name || given.kind != Kind::sequence) {
      refuse(translated("the pickle calls a value that is not a name"));
    }
    switch (called.name->role) {
      case dictionary: {
        std::vector<Id> items;
        if (!given.items.empty()) items = pairs_of(given.items.front());
        // A dictionary may be copied again and again.
        copied_ += items.size();
        if (copied_ > most_values)
          refuse(translated("the pickle makes more than {1} values", most_values));
        push(Kind::dictionary).items = std::move(items);
        return;
      }
      case sizes:
        if (given.items.size() == 1) {
          stack_.push_back(given.items.front());
          return;
        }
        break;
      case passed_over:
        push(Kind::other);
        return;
      case tensor:
      case tensor_of_dtype:
      case parameter:
      case typed: {
        const PickleName* name = called.name;
        Value& call = push(Kind::call);
        call.name = name;
        call.items = {callee, arguments};
        return;
      }
      case storage:
      case byte_storage:
      case dtype:
      case class_name:
        break;
    }
    refuse(translated("the pickle calls {1}", in_quotes(std::string(called.name->module) + "." +
                                                        std::string(called.name->name))));
  }

  // Keys and values of a dictionary, or of a list of pairs.
  std::vector<Id> pairs_of(Id from) const {
    const Value& given = to_.values_[from];
    if (given.kind == Kind::dictionary) return given.items;
    std::vector<Id> items;
    if (given.kind != Kind::sequence) return items;
    for (const Id id : given.items) {
      const Value& pair = to_.values_[id];
      if (pair.kind != Kind::sequence || pair.items.size() != 2)
        refuse(translated("the pickle makes a dictionary of what are not pairs"));
      items.insert(items.end(), pair.items.begin(), pair.items.end());
    }
    return items;
  }

  // Attributes of a value hold no tensors of the file.
  void set_state() {
    pop();
    expect(1);
    const Kind kind = to_.values_[stack_.back()].kind;
    if (kind == Kind::dictionary || kind == Kind::call || kind == Kind::other) return;
    refuse(translated("the pickle sets attributes of a value that has none"));
  }

  // ---- Opcodes (Python's Lib/pickletools.py) ----------------------------------------------------

  // Runs one opcode. True at the end of the pickle.
  bool step() {
    opcode_at_ = to_.at_;
    if (to_.at_ == bytes_.size()) refuse(translated("the pickle has no end"));
    const char opcode = bytes_[to_.at_++];
    return simple(opcode) || counted(opcode) || container(opcode) ? false : last(opcode);
  }

  // Opcodes of values without a length. False if it is none of them.
  bool simple(char opcode) {
    switch (opcode) {
      case '\x80':  // PROTO
        if (const std::uint64_t protocol = number(1); protocol < 2 || protocol > 5)
          refuse(translated("the pickle is of protocol {1}: 2 to 5 are read", protocol));
        return true;
      case '\x95':  // FRAME
        number(8);
        return true;
      case 'N':
        push(Kind::none);
        return true;
      case '\x88':  // NEWTRUE
      case '\x89':  // NEWFALSE
        push(Kind::boolean).integer = opcode == '\x88' ? 1 : 0;
        return true;
      case 'J':  // BININT
        push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4))));
        return true;
      case 'K':  // BININT1
        push_integer(static_cast<std::int64_t>(number(1)));
        return true;
      case 'M':  // BININT2
        push_integer(static_cast<std::int64_t>(number(2)));
        return true;
      case 'G':  // BINFLOAT
        number(8);
        push(Kind::other);
        return true;
      default:
        return false;
    }
  }

  // Opcodes that say how long they are, and those of the memo.
  bool counted(char opcode) {
    switch (opcode) {
      case '\x8a':  // LONG1
        push_long(number(1));
        return true;
      case '\x8b':  // LONG4
        push_long(number(4));
        return true;
      case 'X':  // BINUNICODE
      case 'T':  // BINSTRING
        push_text(Kind::text, number(4));
        return true;
      case '\x8c':  // SHORT_BINUNICODE
      case 'U':     // SHORT_BINSTRING
        push_text(Kind::text, number(1));
        return true;
      case '\x8d':  // BINUNICODE8
        push_text(Kind::text, number(8));
        return true;
      case 'C':  // SHORT_BINBYTES
        push_text(Kind::other, number(1));
        return true;
      case 'B':  // BINBYTES
        push_text(Kind::other, number(4));
        return true;
      case '\x8e':  // BINBYTES8
      case '\x96':  // BYTEARRAY8
        push_text(Kind::other, number(8));
        return true;
      case 'q':  // BINPUT
        put(number(1));
        return true;
      case 'r':  // LONG_BINPUT
        put(number(4));
        return true;
      case '\x94':  // MEMOIZE
        put(memo_.size());
        return true;
      case 'h':  // BINGET
        get(number(1));
        return true;
      case 'j':  // LONG_BINGET
        get(number(4));
        return true;
      default:
        return false;
    }
  }

  // Opcodes of containers and of marks.
  bool container(char opcode) {
    switch (opcode) {
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return true;
      case ']':  // EMPTY_LIST
      case ')':  // EMPTY_TUPLE
        push(Kind::sequence);
        return true;
      case '}':  // EMPTY_DICT
        push(Kind::dictionary);
        return true;
      case '\x8f':  // EMPTY_SET
        push(Kind::other);
        return true;
      case '\x85':  // TUPLE1
      case '\x86':  // TUPLE2
      case '\x87':  // TUPLE3
        tuple(static_cast<unsigned char>(opcode) - 0x84U);
        return true;
      case 't': {  // TUPLE
        std::vector<Id> items = pop_marked();
        push(Kind::sequence).items = std::move(items);
        return true;
      }
      case '\x91':  // FROZENSET
        pop_marked();
        push(Kind::other);
        return true;
      case '\x90':  // ADDITEMS
        pop_marked();
        top(Kind::other);
        return true;
      case 'a': {  // APPEND
        const Id item = pop();
        top(Kind::sequence).items.push_back(item);
        return true;
      }
      case 'e': {  // APPENDS
        const std::vector<Id> items = pop_marked();
        std::vector<Id>& to = top(Kind::sequence).items;
        to.insert(to.end(), items.begin(), items.end());
        return true;
      }
      case 's': {  // SETITEM
        const Id value = pop(), key = pop();
        std::vector<Id>& to = top(Kind::dictionary).items;
        to.insert(to.end(), {key, value});
        return true;
      }
      case 'u': {  // SETITEMS
        const std::vector<Id> items = pop_marked();
        if (items.size() % 2 != 0) refuse(translated("the pickle has a key without a value"));
        std::vector<Id>& to = top(Kind::dictionary).items;
        to.insert(to.end(), items.begin(), items.end());
        return true;
      }
      default:
        return false;
    }
  }

  // All other opcodes. True at the end of the pickle.
  bool last(char opcode) {
    switch (opcode) {
      case 'c': {  // GLOBAL
        const std::string_view module = line(), name = line();
        push_name(module, name);
        return false;
      }
      case '\x93':  // STACK_GLOBAL
        push_stacked_name();
        return false;
      case 'Q': {  // BINPERSID
        const Id id = pop();
        push(Kind::stored).items = {id};
        return false;
      }
      case 'R':     // REDUCE
      case '\x81':  // NEWOBJ
        make();
        return false;
      case 'b':  // BUILD
        set_state();
        return false;
      case '.':  // STOP
        to_.root_ = pop();
        return true;
      default:
        refuse(translated("the pickle has the opcode {1}, which is not in the list of what is read",
                          opcode_text(opcode)));
    }
  }

  void push_long(std::uint64_t count) {
    const std::string_view bytes = take(count);
    if (count > sizeof(std::int64_t)) {
      push(Kind::other).text = bytes;
      return;
    }
    std::uint64_t value = 0;
    for (std::size_t i = count; i-- > 0;)
      value = value << 8U | static_cast<unsigned char>(bytes[i]);
    const bool negative = count > 0 && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
    if (negative && count < sizeof value) value |= ~std::uint64_t{0} << (8 * count);
    push_integer(static_cast<std::int64_t>(value));
  }

  Pickle& to_;
  std::string_view bytes_;
  std::size_t opcode_at_ = 0;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Id> memo_;
  std::size_t copied_ = 0;
};

Pickle::Pickle(std::span<const std::byte> bytes, std::size_t begin, std::string place)
    : at_(begin), place_(std::move(place)) {
  PickleMachine(*this, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).run();
}

void Pickle::refuse(const std::string& problem, std::size_t at) const {
  throw input_error(problem, (place_.empty() ? "" : place_ + ", ") + "byte " + std::to_string(at),
                    translated(save_plainly));
}

}  // namespace attn
