#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/json_value.hpp"

namespace attn {

/// Pull parser of JSON, which builds no values, for files with hundreds of thousands of strings.
/// The caller reads the next value with the function for its type, which peek() gives. All
/// functions throw the Error of parse_json(), with line and column, where the text is no JSON.
class JsonEvents {
 public:
  /// `text` must outlive the parser.
  explicit JsonEvents(std::string_view text);

  /// Type of the next value.
  JsonValue::Type peek();

  /// Enters the next value, an object or an array.
  void enter();

  /// Reads the key of the next member of the object entered last; false at its end, which leaves
  /// the object. A key is valid until the next string or key is read.
  bool next_member(std::string_view& key);
  /// True if the array entered last has a next element; false at its end, which leaves the array.
  bool next_element();

  /// Reads a string, which is valid until the next string or key is read.
  std::string_view string();

  /// Reads a number written as an integer from 0 to 2^32 − 1; otherwise reads nothing and returns
  /// false.
  bool small_integer(std::uint32_t& number);

  /// Reads a number and returns its text.
  std::string_view number();

  /// Reads a value of any type; throws Error(input) if its text is longer than `most_bytes`.
  JsonValue value(std::size_t most_bytes = SIZE_MAX);

  /// Throws unless only white space is left.
  void expect_end();

 private:
  [[noreturn]] void fail() const;
  void skip_space() noexcept;
  char next();
  void expect(char wanted);
  bool next_item(char closing);
  std::size_t end_of_string(std::size_t at, bool& escaped) const;
  std::string_view take_word();
  void append_escaped(std::string_view raw);

  std::string_view text_;
  std::size_t at_ = 0;
  bool first_ = false;  // before the first item of an object or array
  std::string unescaped_;
};

}  // namespace attn
