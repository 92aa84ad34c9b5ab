#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// The text as a JSON string, in its quotes. UTF-8 is passed through but for control characters,
/// which are escaped; bytes that are none become U+FFFD.
std::string json_string(std::string_view text);

/// Indented by two spaces, each innermost row of a tensor on a line of its own; or all on one line.
enum class JsonLayout { indented, line };

/// Writes JSON as it goes. Numbers are in the shortest form that reads back to the same float or
/// double; infinities and NaN are the strings "inf", "-inf", "nan".
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
  void value(const std::vector<std::string>& texts);
  template <class Value>
  void member(std::string_view name, const Value& of_it) {
    key(name);
    value(of_it);
  }
  /// Hands what is left to the sink, with a closing newline.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attn
