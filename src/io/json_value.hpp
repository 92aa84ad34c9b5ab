#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/tensor.hpp"

#include "support/translated.hpp"

namespace attn {

struct JsonMember;
class NumberBlock;

/// A copyable value behind a pointer, which is null for the empty value: it takes eight bytes where
/// it stands, so that arrays of small values stay small.
template <class T>
class Boxed {
 public:
  Boxed() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a value stands for its box
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) { return *this = Boxed(other); }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  const T& operator*() const noexcept {
    static const T empty;
    return value_ ? *value_ : empty;
  }
  const T* operator->() const noexcept { return &**this; }
  T& operator*() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  T* operator->() { return &**this; }

 private:
  std::unique_ptr<T> value_;
};

/// Value of a JSON text (RFC 8259). Nested arrays of numbers are one block, which makes large
/// tensors cheap and is split when single elements are read; other arrays hold one value per
/// element. Members keep the order of the text.
class JsonValue {
 public:
  enum class Type { null, boolean, number, string, array, object };

  Type type() const noexcept;
  bool is(Type wanted) const noexcept { return type() == wanted; }

  bool boolean() const;
  double number() const;
  /// True for a whole number that fits int64_t: "3", "3.0" and "3e0" alike.
  bool is_integer() const noexcept;
  std::int64_t integer() const;
  /// True for a number that the text writes as an integer beyond ±2⁵³, which a double may round.
  bool is_large_integer() const noexcept;
  const std::string& string() const;

  /// Arrays.
  std::size_t size() const;
  const JsonValue& element(std::size_t i) const;

  /// Block of an array of numbers; null for other values.
  const NumberBlock* block() const noexcept;

  /// Members of an object, and one by its key; null if there is none.
  std::span<const JsonMember> members() const;
  const JsonValue* find(std::string_view key) const noexcept;

  // Integers apart from other numbers, because doubles lose those above 2^53; those beyond int64
  // as the nearest double.
  struct LargeInteger {
    double nearest;
  };
  using Text = Boxed<std::string>;
  using Array = Boxed<std::vector<JsonValue>>;
  using Object = Boxed<std::vector<JsonMember>>;
  using Block = Boxed<std::shared_ptr<const NumberBlock>>;
  std::variant<std::monostate, bool, double, std::int64_t, Text, Array, Object, Block, LargeInteger>
      data;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

struct JsonOptions {
  std::size_t depth = 512;  ///< most arrays and objects within each other
  /// Type that number arrays are read as at once, unless the text is an object with a "dtype".
  /// Blocks can be read as other types later.
  DType dtype = DType::float64;
  std::size_t threads = 1;  ///< for number arrays; 0 = as many as the machine has
  /// Keeps the text alive for number arrays, which refer to it; without an owner they copy it.
  std::shared_ptr<const void> owner = nullptr;
  /// Whether NaN, Infinity and -Infinity are read, as the strings that stand for them.
  bool python_numbers = false;
};

/// Parses a whole text. Throws Error(input) at "line 3, column 14" for a syntax error, and at a
/// JSON pointer for a key given twice, a number beyond the range of a double, or nesting beyond the
/// limit.
JsonValue parse_json(std::string_view text, const JsonOptions& options = {});

/// Parses a text without blocks, so that all arrays hold one value per element.
JsonValue parse_json_by_element(std::string_view text, std::size_t depth);

/// Parses a text as parse_json() does, but syntax errors quote words of it: for what the user
/// wrote. Other files, which a document names, may be secret.
JsonValue parse_json_document(std::string_view text, const JsonOptions& options = {});

/// Throws Error(input) for a text that is no JSON (RFC 8259) at its first mistake, with line and
/// column from 1, in characters, and with a correction for usual mistakes. A zero byte is reported
/// before all other mistakes. Words of the text are quoted only if `quotes`.
[[noreturn]] void throw_json_syntax_error(std::string_view text, bool quotes);

/// JSON pointer with one more step, escaped as RFC 6901 requires: "/a~1b/3".
std::string pointer_to(std::string_view pointer, std::string_view key);
std::string pointer_to(std::string_view pointer, std::size_t index);

/// Name of the value's type in a sentence, marked for translated(): "a string", "an array", "null"…
std::string_view type_text(const JsonValue& value) noexcept;

/// Checked reading of JSON values. Each function throws Error(input) with the problem "expected a
/// string, found null" at the JSON pointer `place`; `help` is the error's help, "give a string" if
/// it is empty.

const JsonValue& expect_object(const JsonValue& value, const std::string& place,
                               const std::string& help = "");
const JsonValue& expect_array(const JsonValue& value, const std::string& place,
                              const std::string& help = "");
const std::string& expect_string(const JsonValue& value, const std::string& place,
                                 const std::string& help = "");
bool expect_boolean(const JsonValue& value, const std::string& place, const std::string& help = "");
/// A finite number. The strings "nan", "inf" and "-inf", which tensors may hold, are refused in
/// words of their own.
double expect_number(const JsonValue& value, const std::string& place,
                     const std::string& help = "");
/// A whole number of at least `least`; INT64_MIN is no bound.
std::int64_t expect_integer(const JsonValue& value, const std::string& place, std::int64_t least,
                            const std::string& help = "");

/// The index of a string among the names; `noun` is what they name: "unknown activation \"x\"".
std::size_t expect_name(const JsonValue& value, const std::string& place, const std::string& noun,
                        std::span<const std::string_view> names);

/// The value that a string names in a table of Named.
template <class Table>
auto expect_choice(const JsonValue& value, const std::string& place, const std::string& noun,
                   const Table& table) {
  std::vector<std::string_view> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.push_back(row.name);
  return table[expect_name(value, place, noun, names)].value;
}

/// An object of JSON and its place. Members are read with presence and type checked: each function
/// throws Error(input) at the member's JSON pointer, in the words that the constructor was given.
/// A value that is no object counts as one without members. Refers to the value, which must stay.
///
///     const JsonObject options(value, "/options", {.missing_help = to_translate("…")});
///     const std::size_t heads = options.count("heads", 1);  // must be there
///     const auto reach = options.optional_count("reach");   // may be absent
class JsonObject {
 public:
  /// Texts of the errors, in English and marked by to_translate().
  struct Texts {
    /// The problem of an absent member; {1} is its key.
    const char* missing = to_translate("\"{1}\" is missing");
    const char* missing_help = "";
    /// The help for a value of another type; empty for "give a string" and the like.
    const char* type_help = "";
    /// An absent member's error is at the object's place instead of the member's.
    bool missing_in_object = false;
    /// A member that is null counts as absent.
    bool null_is_absent = false;
  };

  JsonObject(const JsonValue& value, std::string place, const Texts& texts)
      : value_(value), place_(std::move(place)), texts_(texts) {}

  const JsonValue& value() const noexcept { return value_; }
  const std::string& place() const noexcept { return place_; }
  /// The JSON pointer of a member.
  std::string place(std::string_view key) const { return pointer_to(place_, key); }

  /// The member; null if it is absent.
  const JsonValue* find(std::string_view key) const noexcept;
  /// The member, whatever its type. Throws if it is absent, as all functions below do.
  const JsonValue& member(std::string_view key) const;

  const std::string& string(std::string_view key) const;
  bool boolean(std::string_view key) const;
  double number(std::string_view key) const;
  /// A whole number of at least `least`.
  std::size_t count(std::string_view key, std::size_t least = 0) const;
  const JsonValue& array(std::string_view key) const;
  /// An object with the same texts.
  JsonObject object(std::string_view key) const;
  /// Calls use(element, place) for each element of an array.
  template <class Use>
  void each(std::string_view key, Use&& use) const {
    const JsonValue& list = array(key);
    for (std::size_t i = 0; i < list.size(); ++i) use(list.element(i), pointer_to(place(key), i));
  }

  /// Members that may be absent, with their types checked as above.
  std::optional<std::string> optional_string(std::string_view key) const;
  std::optional<std::size_t> optional_count(std::string_view key) const;

 private:
  std::string type_help() const;

  const JsonValue& value_;
  std::string place_;
  Texts texts_;
};

}  // namespace attn
