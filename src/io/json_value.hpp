#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

struct JsonMember;
class NumberBlock;

/// One value of a JSON text (RFC 8259). Nested arrays of numbers are kept as one block, which is
/// what makes large tensors cheap and is taken apart when single elements are asked for; all other
/// arrays hold a value an element. Members keep the order of the text.
class JsonValue {
 public:
  enum class Type { null, boolean, number, string, array, object };

  Type type() const noexcept;
  bool is(Type wanted) const noexcept { return type() == wanted; }

  bool boolean() const;
  double number() const;
  /// Whether the number is integral and fits int64_t; "3", "3.0" and "3e0" alike.
  bool is_integer() const noexcept;
  std::int64_t integer() const;
  const std::string& string() const;

  /// Arrays.
  std::size_t size() const;
  const JsonValue& element(std::size_t i) const;

  /// The block if the array is one, else null.
  const NumberBlock* block() const noexcept;

  /// Objects. `find` gives null if there is no such member.
  std::span<const JsonMember> members() const;
  const JsonValue* find(std::string_view key) const noexcept;

  // Representation: a number keeps its integer beside it when it has one, as doubles lose those
  // above 2^53.
  struct Number {
    double value;
    std::int64_t integer;
    bool is_integer;
  };
  static Number number_of(double value) noexcept;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;
  using Block = std::shared_ptr<const NumberBlock>;
  std::variant<std::monostate, bool, Number, std::string, Array, Object, Block> data;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

struct JsonOptions {
  std::size_t depth = 512;  ///< most nested arrays and objects
  /// What number arrays are read as at once, unless the text is an object that says it itself by
  /// "dtype". They can be read as all others later.
  DType dtype = DType::float64;
  std::size_t threads = 1;  ///< that read them; 0 = as many as the machine has
  /// Keeps the text alive, which number arrays refer to; they copy their part of it otherwise.
  std::shared_ptr<const void> owner = nullptr;
};

/// Parses a whole text. Throws Error(input) whose place is "line 3, column 14" for a syntax error
/// and a JSON pointer for a key given twice, a number beyond the range of a double, or nesting
/// beyond the limit.
JsonValue parse_json(std::string_view text, const JsonOptions& options = {});

/// The same without blocks, one value an element.
JsonValue parse_json_by_element(std::string_view text, std::size_t depth);

/// "/a~1b/3": `pointer` with one more step, escaped as RFC 6901 says.
std::string pointer_to(std::string_view pointer, std::string_view key);
std::string pointer_to(std::string_view pointer, std::size_t index);

/// A human's name of what the value is: "a string", "an array", "null"…
std::string_view type_text(const JsonValue& value) noexcept;

}  // namespace attn
