#include "io/json_writer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>

#include "attn/error.hpp"

#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 10;
constexpr std::size_t part_elements = std::size_t{1} << 14;

// Longest text of a double in its shortest form: "-2.2250738585072014e-308".
constexpr std::size_t number_bytes = 32;

char* copy_text(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

// True if readers that go through double may read the shortest text of a float as another float.
// That needs a double half-way between two floats within a relative 2^-54 of the text's number
// n / 10^j. Half-way numbers are m / 2^q with odd m < 2^25. If the two are equal, both ways of
// reading give the same float; otherwise their relative distance is at least 1 / (m 5^j), which is
// more for j <= 12. Nine digits from 10^-4 on have at most 12 behind the point. Up to 10^10 the
// same argument holds for n 10^j.
bool may_be_misread(float number) {
  const float magnitude = std::abs(number);
  return !(magnitude >= 1e-4F && magnitude <= 1e10F);
}

template <class T>
char* finite_to(char* at, T number) {
  char* const end = std::to_chars(at, at + number_bytes, number).ptr;
  if constexpr (std::is_same_v<T, float>) {
    // For a few floats, such as 7.038531e-26, the shortest text is, as a double, half-way between
    // two floats and would be rounded to the wrong one.
    double read = number;
    if (may_be_misread(number)) std::from_chars(at, end, read);
    if (static_cast<float>(read) != number) {
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
    // Many readers read "-0" as the integer 0.
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
    } else if (const auto last = static_cast<unsigned char>(text[length - 1]);
               static_cast<unsigned char>(c) < 0x20 || c == 0x7F || (c == '\xC2' && last < 0xA0)) {
      // Control characters up to U+009F: some terminals take U+009B for the start of a command.
      result += "\\u00";
      result += digits[last >> 4];
      result += digits[last & 15];
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  result += '"';
  return result;
}

namespace {

// Text of a tensor as nested arrays, with each innermost row on a line of its own.
template <class T>
class NestedText {
 public:
  // `depth` is the number of open arrays and objects around the tensor.
  NestedText(const Tensor& tensor, std::size_t depth, JsonLayout layout)
      : values_(tensor.values<T>()), rank_(tensor.rank()), depth_(depth), layout_(layout) {
    steps_.resize(rank_ + 1, 1);
    for (std::size_t axis = rank_; axis-- > 0;)
      steps_[axis] = steps_[axis + 1] * tensor.shape()[axis];
  }

  // Text of the elements from `begin` up to `end` with the brackets that open before and close
  // behind them.
  std::string part(std::size_t begin, std::size_t end) const {
    std::string text;
    std::size_t used = 0;
    const std::size_t brackets = rank_ * (2 * (depth_ + rank_) + 2) + 2;
    const std::size_t row = steps_[rank_ - 1];
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t needed = number_bytes + 2 * brackets;
      if (text.size() - used < needed) text.resize(std::max(2 * text.size(), 64 * needed));
      char* at = text.data() + used;
      if (i % row != 0) {
        at = copy_text(at, ", ");
      } else {
        at = open(at, i);
      }
      at = number_to(at, values_[i]);
      if ((i + 1) % row == 0) at = close(at, i + 1);
      used = static_cast<std::size_t>(at - text.data());
    }
    text.resize(used);
    return text;
  }

 private:
  char* new_line(char* at, std::size_t depth) const {
    if (layout_ == JsonLayout::line) return at;
    *at++ = '\n';
    return std::fill_n(at, 2 * depth, ' ');
  }

  char* open(char* at, std::size_t element) const {
    std::size_t axis = rank_ - 1;
    while (axis > 0 && element % steps_[axis - 1] == 0) --axis;
    // The bracket of axis 0 opens once and follows no element.
    if (element > 0) *at++ = ',';
    for (; axis < rank_; ++axis) {
      if (axis > 0) at = new_line(at, depth_ + axis);
      *at++ = '[';
    }
    return at;
  }

  char* close(char* at, std::size_t element) const {
    for (std::size_t axis = rank_; axis-- > 0 && element % steps_[axis] == 0;) {
      if (axis + 1 < rank_) at = new_line(at, depth_ + axis);
      *at++ = ']';
    }
    return at;
  }

  std::span<const T> values_;
  std::size_t rank_, depth_;
  JsonLayout layout_;
  std::vector<std::size_t> steps_;  // elements in one array of each axis
};

}  // namespace

struct JsonWriter::State {
  struct Open {
    bool object;
    bool empty = true;
  };

  std::function<void(std::string_view)> sink;
  std::size_t threads = 1;
  JsonLayout layout = JsonLayout::indented;
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

  // New line between two values (`comma`) or between a bracket and a value.
  void new_line(std::size_t depth, bool comma) {
    if (comma) put(",");
    if (layout == JsonLayout::line) {
      if (comma) put(" ");
      return;
    }
    put("\n");
    for (std::size_t i = 0; i < depth; ++i) put("  ");
  }

  // Separator between the last value and the next one.
  void separate() {
    if (after_key) {
      after_key = false;
      return;
    }
    if (open.empty()) return;
    if (open.back().object)
      throw Error(ErrorKind::internal, translated("a JSON member has no key"), "", "");
    new_line(open.size(), !open.back().empty);
    open.back().empty = false;
  }

  void begin(bool object) {
    separate();
    put(object ? "{" : "[");
    open.push_back({object});
  }

  void end(bool object) {
    if (open.empty() || open.back().object != object || after_key) {
      throw Error(ErrorKind::internal, translated("JSON brackets do not match"), "", "");
    }
    const bool empty = open.back().empty;
    open.pop_back();
    if (!empty) new_line(open.size(), false);
    put(object ? "}" : "]");
  }

  template <class T>
  void number(T value) {
    separate();
    put_number(value);
  }

  template <class T>
  void tensor(const Tensor& tensor) {
    separate();
    if (tensor.rank() == 0) {
      put_number(tensor.values<T>()[0]);
      return;
    }
    const NestedText<T> text(tensor, open.size(), layout);
    if (tensor.size() <= part_elements) {
      put(text.part(0, tensor.size()));
      return;
    }
    // All threads write a few parts while the parts before them go to the sink.
    hand_on();
    const std::size_t parts = (tensor.size() + part_elements - 1) / part_elements;
    const std::size_t at_once = 8 * thread_count(threads);
    std::vector<std::string> ready, coming;
    for (std::size_t first = 0; first < parts || !ready.empty(); first += at_once) {
      coming.resize(first < parts ? std::min(at_once, parts - first) : 0);
      parallel_for(coming.size() + 1, threads, [&](std::size_t i) {
        if (i == 0) {
          for (const std::string& part : ready) sink(part);
        } else {
          const std::size_t begin = (first + i - 1) * part_elements;
          coming[i - 1] = text.part(begin, std::min(begin + part_elements, tensor.size()));
        }
      });
      ready.swap(coming);
    }
  }
};

JsonWriter::JsonWriter(std::function<void(std::string_view)> sink, std::size_t threads,
                       JsonLayout layout)
    : state_(new State) {
  state_->layout = layout;
  state_->threads = threads;
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
    throw Error(ErrorKind::internal, translated("a JSON key where none is allowed"), "", "");
  }
  state.new_line(state.open.size(), !state.open.back().empty);
  state.open.back().empty = false;
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
    throw Error(ErrorKind::internal, translated("an absent tensor was written as JSON"), "", "");
  }
  const Tensor wide = tensor.converted(widened(tensor.dtype()));
  with_element_type(wide.dtype(), [&]<class T>() { state_->tensor<T>(wide); });
}

void JsonWriter::value(const Shape& shape) {
  state_->separate();
  state_->put(text(shape));
}

void JsonWriter::value(const std::vector<std::string>& texts) {
  begin_array();
  for (const std::string& text : texts) value(text);
  end_array();
}

void JsonWriter::finish() {
  if (!state_->open.empty() || state_->after_key) {
    throw Error(ErrorKind::internal, translated("a JSON array or object was left open"), "", "");
  }
  state_->put("\n");
  state_->hand_on();
}

}  // namespace attn
