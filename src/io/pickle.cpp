#include "io/pickle.hpp"

#include <bit>
#include <unordered_map>

#include "attn/error.hpp"

#include "support/number_text.hpp"
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

  // A text that does not stand in the bytes as it is.
  void push_own(Kind kind, std::optional<std::string> text) {
    if (!text) refuse(translated("the pickle has a text that Python did not write"));
    Value& value = push(kind);
    value.text = to_.texts_.emplace_back(std::move(*text));
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

  // The container on the top, which a value of an unknown class becomes as something is added.
  Value& top(Kind kind) {
    expect(1);
    Value& value = to_.values_[stack_.back()];
    if (value.kind == Kind::object && kind != Kind::other) {
      value.kind = kind;
      value.items.clear();
    }
    if (value.kind != kind && !(kind == Kind::other && value.kind == Kind::object))
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
    const PickleName* known = find_pickle_name(module, name);
    if (known == nullptr) {
      const PickleName own{module, name, unknown_name};
      if (starts_programs(module, name)) {
        refuse(translated("the pickle names {1}, which is there to start programs",
                          in_quotes(own.text())));
      }
      known = &to_.unknown_.try_emplace({module, name}, own).first->second;
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

  // Calls a name, or makes a value of a class.
  void make(bool is_class) {
    const Id arguments = pop(), callee = pop();
    const Value& called = to_.values_[callee];
    const Value& given = to_.values_[arguments];
    if (called.kind == Kind::object && given.kind == Kind::sequence) {
      make_object(*called.name, {});
      return;
    }
    if (called.kind != Kind::name || given.kind != Kind::sequence) {
      refuse(translated("the pickle calls a value that is not a name"));
    }
    switch (called.name->role) {
      case dictionary: {
        std::vector<Id> items;
        if (!given.items.empty()) items = pairs_of(given.items.front());
        count_copied(items.size(), most_values);
        push(Kind::dictionary).items = std::move(items);
        return;
      }
      case sizes:
        if (given.items.size() == 1) {
          stack_.push_back(given.items.front());
          return;
        }
        break;
      case default_dictionary:
        push(Kind::dictionary).items =
            given.items.size() > 1 ? pairs_of(given.items[1]) : std::vector<Id>();
        return;
      case passed_over:
        push(Kind::other);
        return;
      case layout:
        push_layout(given);
        return;
      case encoded_text:
      case byte_text:
        make_bytes(given);
        return;
      case reconstructor:
        reconstruct(given);
        return;
      case unknown_name:
        make_object(*called.name, is_class ? given.items : std::vector<Id>());
        return;
      case tensor:
      case tensor_of_dtype:
      case parameter:
      case typed:
      case storage_bytes:
      case sparse_tensor:
      case numpy_array:
      case numpy_buffer:
      case numpy_scalar:
      case numpy_type: {
        const PickleName* name = called.name;
        Value& call = push(Kind::call);
        call.name = name;
        call.items = {callee, arguments};
        return;
      }
      case storage:
      case unread_storage:
      case byte_storage:
      case dtype:
      case class_name:
        break;
    }
    refuse(translated("the pickle calls {1}", in_quotes(called.name->text())));
  }

  // A value of an unknown class. What a tuple of that class holds is known, such as a named tuple.
  void make_object(const PickleName& name, std::vector<Id> items) {
    count_copied(items.size(), most_values);
    Value& object = push(Kind::object);
    object.name = &name;
    object.items = std::move(items);
  }

  // _codecs.encode(text, "latin1"), or bytes and bytearray of a text and that, of bytes or nothing.
  void make_bytes(const Value& given) {
    if (given.items.empty()) {
      push(Kind::bytes);
      return;
    }
    const Value& first = to_.values_[given.items[0]];
    if (first.kind == Kind::bytes) {
      push(Kind::bytes).text = first.text;
    } else if (first.kind == Kind::text) {
      count_copied(first.text.size(), most_values + 2 * bytes_.size());
      push_own(Kind::bytes, latin_1(first.text));
    } else {
      push(Kind::other);
    }
  }

  // copyreg._reconstructor(class, built-in class, what a value of that class holds)
  void reconstruct(const Value& given) {
    if (given.items.size() != 3 || to_.values_[given.items[0]].kind != Kind::name) {
      push(Kind::other);
      return;
    }
    const PickleName& name = *to_.values_[given.items[0]].name;
    const Value& held = to_.values_[given.items[2]];
    const bool container = held.kind == Kind::sequence || held.kind == Kind::dictionary;
    const Kind kind = container ? held.kind : Kind::object;
    std::vector<Id> items = container ? held.items : std::vector<Id>();
    count_copied(items.size(), most_values);
    Value& made = push(kind);
    made.name = &name;
    made.items = std::move(items);
  }

  void push_layout(const Value& given) {
    const bool named = !given.items.empty() && to_.values_[given.items[0]].kind == Kind::text;
    const std::string_view name = named ? to_.values_[given.items[0]].text : "";
    push(Kind::text).text = name;
  }

  // Counts values that are copied, which may be copied again and again.
  void count_copied(std::size_t count, std::size_t most) {
    copied_ += count;
    if (copied_ > most) refuse(translated("the pickle makes more than {1} values", most_values));
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

  // Attributes of a value hold no tensors of the file, but those of arrays and of their types.
  void set_state() {
    const Id state = pop();
    expect(1);
    Value& value = to_.values_[stack_.back()];
    if (value.kind == Kind::call) {
      if (value.items.size() == 2) value.items.push_back(state);
      return;
    }
    const bool has_state = value.kind == Kind::dictionary || value.kind == Kind::other ||
                           value.kind == Kind::object || value.name != nullptr;
    if (!has_state || value.kind == Kind::name)
      refuse(translated("the pickle sets attributes of a value that has none"));
  }

  // ---- Opcodes (Python's Lib/pickletools.py) ----------------------------------------------------

  // Runs one opcode. True at the end of the pickle.
  bool step() {
    opcode_at_ = to_.at_;
    if (to_.at_ == bytes_.size()) refuse(translated("the pickle has no end"));
    const char opcode = bytes_[to_.at_++];
    return simple(opcode) || counted(opcode) || lines(opcode) || container(opcode) ? false
                                                                                   : last(opcode);
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
      case 'G': {  // BINFLOAT, the highest byte first
        std::uint64_t bits = 0;
        for (const char c : take(8)) bits = bits << 8U | static_cast<unsigned char>(c);
        push(Kind::number).number = std::bit_cast<double>(bits);
        return true;
      }
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
        push_text(Kind::bytes, number(1));
        return true;
      case 'B':  // BINBYTES
        push_text(Kind::bytes, number(4));
        return true;
      case '\x8e':  // BINBYTES8
      case '\x96':  // BYTEARRAY8
        push_text(Kind::bytes, number(8));
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

  // Opcodes of lines of text, as protocol 0 has them, and those that only move values.
  bool lines(char opcode) {
    switch (opcode) {
      case 'I':  // INT, and truths
      case 'L':  // LONG
      case 'F':  // FLOAT
        push_number(opcode, line());
        return true;
      case 'S':  // STRING
        push_own(Kind::text, unquoted(line()));
        return true;
      case 'V':  // UNICODE
        push_own(Kind::text, unescaped_unicode(line()));
        return true;
      case 'p':    // PUT
      case 'g': {  // GET
        std::uint64_t place = 0;
        if (!parse_number(line(), place))
          refuse(translated("the pickle has a number that Python did not write"));
        opcode == 'p' ? put(place) : get(place);
        return true;
      }
      case '0':  // POP
        if (!marks_.empty() && marks_.back() == stack_.size()) {
          marks_.pop_back();
        } else {
          pop();
        }
        return true;
      case '1':  // POP_MARK
        pop_marked();
        return true;
      case '2':  // DUP
        expect(1);
        stack_.push_back(stack_.back());
        return true;
      default:
        return false;
    }
  }

  void push_number(char opcode, std::string_view text) {
    std::int64_t integer = 0;
    double real = 0;
    if (opcode == 'I' && (text == "00" || text == "01")) {
      push(Kind::boolean).integer = text == "01" ? 1 : 0;
    } else if (opcode == 'F' && parse_number(text, real)) {
      push(Kind::number).number = real;
    } else if (opcode == 'L' && text.ends_with('L') &&
               parse_number(text.substr(0, text.size() - 1), integer)) {
      push_integer(integer);
    } else if (opcode == 'I' && parse_number(text, integer)) {
      push_integer(integer);
    } else if (opcode != 'F' && text.find_first_not_of("-0123456789L") == text.npos) {
      push(Kind::other);
    } else {
      refuse(translated("the pickle has a number that Python did not write"));
    }
  }

  // Opcodes of containers and of marks.
  bool container(char opcode) {
    switch (opcode) {
      case '(':  // MARK
        marks_.push_back(stack_.size());
        return true;
      case 'l':    // LIST
      case 'd': {  // DICT
        std::vector<Id> items = pop_marked();
        if (opcode == 'd' && items.size() % 2 != 0)
          refuse(translated("the pickle has a key without a value"));
        push(opcode == 'd' ? Kind::dictionary : Kind::sequence).items = std::move(items);
        return true;
      }
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
      case '\x92':  // NEWOBJ_EX
        pop();      // arguments by name
        [[fallthrough]];
      case 'R':     // REDUCE
      case '\x81':  // NEWOBJ
        make(opcode != 'R');
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
