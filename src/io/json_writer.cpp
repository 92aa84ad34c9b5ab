#include "io/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "attn/error.hpp"

#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 10;

// The longest shortest form of a double is 24 characters ("-2.2250738585072014e-308").
constexpr std::size_t number_bytes = 32;

char* copy_text(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

template <class T>
char* finite_to(char* at, T number) {
  char* const end = std::to_chars(at, at + number_bytes, number).ptr;
  if constexpr (std::is_same_v<T, float>) {
    // Readers of JSON go through double. For a few floats (7.038531e-26 is one) the shortest text
    // is as a double half-way between two floats and would then be rounded to the wrong one.
    double as_read = 0;
    std::from_chars(at, end, as_read);
    if (static_cast<float>(as_read) != number) {
      return std::to_chars(at, at + number_bytes, static_cast<double>(number)).ptr;
    }
  }
  return end;
}

template <class T>
char* number_to(char* at, T number) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    *at = number != 0 ? '1' : '0';
    return at + 1;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(number)) return copy_text(at, "\"nan\"");
    if (std::isinf(number)) return copy_text(at, number > 0 ? "\"inf\"" : "\"-inf\"");
    // Many readers take "-0" for the integer 0.
    if (number == 0 && std::signbit(number)) return copy_text(at, "-0.0");
    return finite_to(at, number);
  } else {
    return std::to_chars(at, at + number_bytes, number).ptr;
  }
}

}  // namespace

std::string json_string(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string result(1, '"');
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text[0];
    if (length == 0) {
      result += "\uFFFD";
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += "\\u00";
      result += digits[c >> 4];
      result += digits[c & 15];
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  result += '"';
  return result;
}

struct JsonWriter::State {
  struct Open {
    bool object;
    bool empty = true;
  };

  std::function<void(std::string_view)> sink;
  std::array<char, piece_bytes> piece;
  std::size_t used = 0;
  std::vector<Open> open;
  bool after_key = false;

  void hand_on() {
    if (used > 0) sink({piece.data(), used});
    used = 0;
  }

  void put(std::string_view text) {
    if (text.size() > piece.size() - used) hand_on();
    if (text.size() > piece.size()) {
      sink(text);
    } else {
      copy_text(piece.data() + used, text);
      used += text.size();
    }
  }

  template <class T>
  void put_number(T number) {
    if (piece.size() - used < number_bytes) hand_on();
    used = static_cast<std::size_t>(number_to(piece.data() + used, number) - piece.data());
  }

  void new_line(std::size_t depth) {
    put("\n");
    for (std::size_t i = 0; i < depth; ++i) put("  ");
  }

  // What stands between the last value and the next one.
  void separate() {
    if (after_key) {
      after_key = false;
      return;
    }
    if (open.empty()) return;
    if (open.back().object) throw Error(ErrorKind::internal, "a JSON member has no key", "", "");
    if (!open.back().empty) put(",");
    open.back().empty = false;
    new_line(open.size());
  }

  void begin(bool object) {
    separate();
    put(object ? "{" : "[");
    open.push_back({object});
  }

  void end(bool object) {
    if (open.empty() || open.back().object != object || after_key) {
      throw Error(ErrorKind::internal, "JSON brackets do not match", "", "");
    }
    const bool empty = open.back().empty;
    open.pop_back();
    if (!empty) new_line(open.size());
    put(object ? "}" : "]");
  }

  template <class T>
  void number(T value) {
    separate();
    put_number(value);
  }

  // The elements in `values` as nested arrays over the axes of `shape`, each innermost row on a
  // line of its own.
  template <class T>
  void nested(std::span<const std::size_t> shape, std::span<const T> values, std::size_t depth) {
    put("[");
    if (shape.size() == 1) {
      put_number(values[0]);
      for (const T element : values.subspan(1)) {
        put(", ");
        put_number(element);
      }
    } else {
      const std::size_t step = values.size() / shape[0];
      for (std::size_t i = 0; i < shape[0]; ++i) {
        if (i > 0) put(",");
        new_line(depth + 1);
        nested(shape.subspan(1), values.subspan(i * step, step), depth + 1);
      }
      new_line(depth);
    }
    put("]");
  }

  template <class T>
  void tensor(const Tensor& tensor) {
    separate();
    if (tensor.rank() == 0) {
      put_number(tensor.values<T>()[0]);
    } else {
      nested(std::span<const std::size_t>(tensor.shape()), tensor.values<T>(), open.size());
    }
  }
};

JsonWriter::JsonWriter(std::function<void(std::string_view)> sink) : state_(new State) {
  state_->sink = std::move(sink);
}

JsonWriter::~JsonWriter() = default;

void JsonWriter::begin_object() {
  state_->begin(true);
}
void JsonWriter::end_object() {
  state_->end(true);
}
void JsonWriter::begin_array() {
  state_->begin(false);
}
void JsonWriter::end_array() {
  state_->end(false);
}

void JsonWriter::key(std::string_view name) {
  State& state = *state_;
  if (state.open.empty() || !state.open.back().object || state.after_key) {
    throw Error(ErrorKind::internal, "a JSON key stands where none can", "", "");
  }
  if (!state.open.back().empty) state.put(",");
  state.open.back().empty = false;
  state.new_line(state.open.size());
  state.put(json_string(name));
  state.put(": ");
  state.after_key = true;
}

void JsonWriter::value(std::string_view text) {
  state_->separate();
  state_->put(json_string(text));
}

void JsonWriter::value(double number) {
  state_->number(number);
}
void JsonWriter::value(float number) {
  state_->number(number);
}
void JsonWriter::value(std::int64_t number) {
  state_->number(number);
}
void JsonWriter::value(std::size_t number) {
  state_->number(number);
}

void JsonWriter::value(bool truth) {
  state_->separate();
  state_->put(truth ? "true" : "false");
}

void JsonWriter::null() {
  state_->separate();
  state_->put("null");
}

void JsonWriter::value(const Tensor& tensor) {
  if (!tensor || tensor.size() == 0) {
    throw Error(ErrorKind::internal, "an absent tensor was written as JSON", "", "");
  }
  switch (tensor.dtype()) {
    case DType::float32:
      return state_->tensor<float>(tensor);
    case DType::float64:
      return state_->tensor<double>(tensor);
    case DType::int64:
      return state_->tensor<std::int64_t>(tensor);
    case DType::boolean:
      return state_->tensor<std::uint8_t>(tensor);
  }
}

void JsonWriter::value(const Shape& shape) {
  state_->separate();
  state_->put(text(shape));
}

void JsonWriter::finish() {
  if (!state_->open.empty() || state_->after_key) {
    throw Error(ErrorKind::internal, "a JSON array or object was left open", "", "");
  }
  state_->put("\n");
  state_->hand_on();
}

}  // namespace attn
