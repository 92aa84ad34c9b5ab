#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/json_value.hpp"

namespace attn {

/// Walks over a JSON text from value to value without building them, for files with hundreds of
/// thousands of strings. Whoever reads asks for what should come next: peek() tells what it is.
/// Where the text is no JSON each of these throws the Error of parse_json, with line and column.
class JsonEvents {
 public:
  /// `text` outlives the reader.
  explicit JsonEvents(std::string_view text);

  JsonValue::Type peek();

  /// Enters the object or array that comes next.
  void enter();

  /// Whether the object entered last has one more member, whose key this reads; leaves the object
  /// if not. A key is valid until the next
  /// string or key is read.
  bool next_member(std::string_view& key);
  /// The same for the elements of an array.
  bool next_element();

  /// The string that comes next, valid until the next one or a key is read.
  std::string_view string();

  /// The number that comes next if it is written as an integer of 0 to 2^32 − 1; otherwise nothing
  /// is read and the result is false.
  bool small_integer(std::uint32_t& number);

  /// The number that comes next, as it is written.
  std::string_view number();

  /// The value that comes next, whatever it is.
  JsonValue value();

  /// Nothing but white space is left.
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
  bool first_ = false;  // of the object or array just entered
  std::string unescaped_;
};

}  // namespace attn
