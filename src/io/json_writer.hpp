#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// The text as a JSON string in its quotes. Control characters are escaped, bytes that are no UTF-8
/// become U+FFFD.
std::string json_string(std::string_view text);

/// Indented by two spaces, with each innermost row of a tensor on a line of its own, or all on one
/// line.
enum class JsonLayout { indented, line };

/// Writes JSON as it goes. Numbers are in the shortest form that is read back as the same float or
/// double; infinities and NaN are the strings "inf", "-inf", "nan". Throws Error(internal) where a
/// key, a value or an end cannot stand.
///
///     json.object("model", [&] {
///       json.member("layers", layers);
///       json.array("heads", heads, [&](const Head& head) { json.value(head.name); });
///     });
class JsonWriter {
 public:
  /// `sink` is called with pieces of the text, in order. Large tensors are turned into text by up
  /// to `threads` threads (0 = as many as the machine has), which changes no byte.
  explicit JsonWriter(std::function<void(std::string_view)> sink, std::size_t threads = 1,
                      JsonLayout layout = JsonLayout::indented);
  ~JsonWriter();  // flushes nothing: call finish()
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(double number);
  void value(float number);
  void value(std::int64_t number);
  void value(std::size_t number);
  void value(bool truth);
  void null();
  /// Nested arrays; booleans are written as 0 and 1.
  void value(const Tensor& tensor);
  /// [2,3,4] on one line.
  void value(const Shape& shape);
  /// An array of strings.
  void value(const std::vector<std::string>& texts);
  /// Null if it is absent.
  template <class Value>
  void value(const std::optional<Value>& optional) {
    if (optional) {
      value(*optional);
    } else {
      null();
    }
  }

  template <class Value>
  void member(std::string_view name, const Value& of_it) {
    key(name);
    value(of_it);
  }
  /// A member that is an object, whose members `write()` writes.
  template <class Write>
  void object(std::string_view name, const Write& write) {
    key(name);
    begin_object();
    write();
    end_object();
  }
  /// A member that is an array: write(value) writes an element for each of the values.
  template <class Values, class Write>
  void array(std::string_view name, const Values& values, const Write& write) {
    key(name);
    begin_array();
    for (const auto& of_it : values) write(of_it);
    end_array();
  }

  /// A member that is an array of objects: write(value) writes the members of one.
  template <class Values, class Write>
  void objects(std::string_view name, const Values& values, const Write& write) {
    array(name, values, [&](const auto& of_it) {
      begin_object();
      write(of_it);
      end_object();
    });
  }

  /// Hands what is left to the sink, with a closing newline.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The text of one JSON value, which write(json) writes.
template <std::invocable<JsonWriter&> Write>
std::string json_text(const Write& write, JsonLayout layout = JsonLayout::indented) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; }, 1, layout);
  write(json);
  json.finish();
  return text;
}

}  // namespace attn
