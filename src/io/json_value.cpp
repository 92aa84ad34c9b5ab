#include "io/json_value.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/error.hpp"

#include "io/json_syntax_error.hpp"
#include "support/in_quotes.hpp"

namespace attn {
namespace {

// Every integer up to here is a double of its own.
constexpr std::int64_t exact_integers = std::int64_t{1} << 53;

JsonValue::Number number_of(double value) {
  // Both bounds are powers of two, so they are exact as doubles.
  const bool integral = value >= -0x1p63 && value < 0x1p63 && std::trunc(value) == value;
  return {value, integral ? static_cast<std::int64_t>(value) : 0, integral};
}

[[noreturn]] void throw_misread(const JsonValue& value, const char* wanted) {
  throw Error(ErrorKind::internal, std::string(type_text(value)) + " in JSON was read as " + wanted,
              "", "");
}

// Builds the values from the parser's events. Open arrays and objects stand on a stack of its own,
// so that no nesting can overflow the program's.
class Builder {
 public:
  Builder(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  JsonValue take() { return std::move(root_); }

  bool null() { return add(JsonValue{}); }
  bool boolean(bool truth) { return add({truth}); }
  bool number_integer(std::int64_t number) { return add_integer(number); }
  bool number_unsigned(std::uint64_t number) {
    if (std::in_range<std::int64_t>(number)) return add_integer(static_cast<std::int64_t>(number));
    return add_number({static_cast<double>(number), 0, false});
  }
  bool number_float(double number, const std::string&) { return add_number(number_of(number)); }
  bool string(std::string& text) { return add({std::move(text)}); }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_array(std::size_t) { return open({JsonValue::Numbers{}}); }
  bool start_object(std::size_t) { return open({JsonValue::Object{}}); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_array() { return close(); }
  bool end_object() {
    check_keys(std::get<JsonValue::Object>(open_.back().value.data));
    return close();
  }

  bool parse_error(std::size_t bytes_read, const std::string& last_token,
                   const nlohmann::detail::exception& exception) {
    constexpr int number_overflow = 406;
    if (exception.id == number_overflow) {
      throw input_error("the number " + last_token + " is beyond the range of a double",
                        pointer(open_.size()), R"(infinities are written "inf" and "-inf")");
    }
    throw json_syntax_error(text_, bytes_read, last_token, exception.what());
  }

 private:
  struct Open {
    JsonValue value;
    std::string key;  // objects: of the member being read
  };

  bool add_integer(std::int64_t number) {
    return add_number({static_cast<double>(number), number, true});
  }

  bool add_number(JsonValue::Number number) {
    if (!open_.empty()) {
      // Packed numbers are doubles alone: an integer that is none keeps its array from being
      // packed.
      const bool packable = !number.is_integer ||
                            (number.integer >= -exact_integers && number.integer <= exact_integers);
      auto* packed = std::get_if<JsonValue::Numbers>(&open_.back().value.data);
      if (packed != nullptr && packable) {
        packed->push_back(number.value);
        return true;
      }
    }
    return add({number});
  }

  bool add(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    JsonValue& parent = open_.back().value;
    if (auto* object = std::get_if<JsonValue::Object>(&parent.data)) {
      object->push_back({std::move(open_.back().key), std::move(value)});
      return true;
    }
    if (const auto* packed = std::get_if<JsonValue::Numbers>(&parent.data)) {
      JsonValue::Array elements;
      elements.reserve(packed->size() + 1);
      for (const double number : *packed) elements.push_back({number_of(number)});
      parent.data = std::move(elements);
    }
    std::get<JsonValue::Array>(parent.data).push_back(std::move(value));
    return true;
  }

  bool open(JsonValue value) {
    if (open_.size() >= limits_.depth) {
      // A pointer as deep as the limit would fill the screen.
      constexpr std::size_t steps_shown = 8;
      const bool cut = open_.size() > steps_shown;
      throw input_error(
          "arrays and objects are nested deeper than " + std::to_string(limits_.depth) + " levels",
          pointer(std::min(open_.size(), steps_shown)) + (cut ? "/…" : ""),
          "look for brackets that are not closed, or raise the limit with --max-nesting");
    }
    open_.push_back({std::move(value), {}});
    return true;
  }

  bool close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    if (auto* packed = std::get_if<JsonValue::Numbers>(&value.data)) packed->shrink_to_fit();
    return add(std::move(value));
  }

  void check_keys(const JsonValue::Object& members) const {
    if (members.size() < 2) return;
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const int compared = members[a].key.compare(members[b].key);
      return compared != 0 ? compared < 0 : a < b;
    });
    // Of several keys given twice, the one whose repetition comes first in the text is named.
    std::size_t repeated = members.size();
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (members[order[i]].key == members[order[i - 1]].key) {
        repeated = std::min(repeated, order[i]);
      }
    }
    if (repeated == members.size()) return;
    const std::string& name = members[repeated].key;
    throw input_error("the key " + in_quotes(name) + " is given twice",
                      pointer_to(pointer(open_.size() - 1), name), "remove one of the two");
  }

  // The pointer to what is being read inside the outermost `depth` open values.
  std::string pointer(std::size_t depth) const {
    std::string result;
    for (std::size_t i = 0; i < depth; ++i) {
      const Open& open = open_[i];
      result = open.value.is(JsonValue::Type::object) ? pointer_to(result, open.key)
                                                      : pointer_to(result, open.value.size());
    }
    return result;
  }

  std::string_view text_;
  JsonLimits limits_;
  std::vector<Open> open_;
  JsonValue root_;
};

}  // namespace

JsonValue::Type JsonValue::type() const noexcept {
  constexpr Type types[] = {Type::null,  Type::boolean, Type::number, Type::string,
                            Type::array, Type::array,   Type::object};
  return types[data.index()];
}

bool JsonValue::boolean() const {
  if (const auto* truth = std::get_if<bool>(&data)) return *truth;
  throw_misread(*this, "a boolean");
}

double JsonValue::number() const {
  if (const auto* number = std::get_if<Number>(&data)) return number->value;
  throw_misread(*this, "a number");
}

bool JsonValue::is_integer() const noexcept {
  const auto* number = std::get_if<Number>(&data);
  return number != nullptr && number->is_integer;
}

std::int64_t JsonValue::integer() const {
  if (is_integer()) return std::get<Number>(data).integer;
  throw_misread(*this, "an integer");
}

const std::string& JsonValue::string() const {
  if (const auto* text = std::get_if<std::string>(&data)) return *text;
  throw_misread(*this, "a string");
}

std::size_t JsonValue::size() const {
  if (const auto* packed = std::get_if<Numbers>(&data)) return packed->size();
  if (const auto* array = std::get_if<Array>(&data)) return array->size();
  if (const auto* object = std::get_if<Object>(&data)) return object->size();
  throw_misread(*this, "an array");
}

bool JsonValue::is_packed() const noexcept {
  return std::holds_alternative<Numbers>(data);
}

std::span<const double> JsonValue::numbers() const {
  if (const auto* packed = std::get_if<Numbers>(&data)) return *packed;
  throw_misread(*this, "an array of numbers");
}

JsonValue JsonValue::element(std::size_t i) const {
  return is_packed() ? JsonValue{number_of(numbers()[i])} : elements()[i];
}

std::span<const JsonValue> JsonValue::elements() const {
  if (const auto* array = std::get_if<Array>(&data)) return *array;
  if (is_packed() && size() == 0) return {};
  throw_misread(*this, "an array of values");
}

std::span<const JsonMember> JsonValue::members() const {
  if (const auto* object = std::get_if<Object>(&data)) return *object;
  throw_misread(*this, "an object");
}

const JsonValue* JsonValue::find(std::string_view key) const noexcept {
  const auto* object = std::get_if<Object>(&data);
  if (object == nullptr) return nullptr;
  for (const JsonMember& member : *object) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

JsonValue parse_json(std::string_view text, const JsonLimits& limits) {
  // The parser takes a zero byte outside strings for the end of the text and would ignore what
  // follows.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) throw json_zero_byte_error(text, zero);
  Builder builder(text, limits);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return builder.take();
}

std::string pointer_to(std::string_view pointer, std::string_view key) {
  std::string result(pointer);
  result += '/';
  for (const char c : key) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

std::string pointer_to(std::string_view pointer, std::size_t index) {
  return std::string(pointer) + '/' + std::to_string(index);
}

std::string_view type_text(const JsonValue& value) noexcept {
  switch (value.type()) {
    case JsonValue::Type::null:
      return "null";
    case JsonValue::Type::boolean:
      return value.boolean() ? "true" : "false";
    case JsonValue::Type::number:
      return "a number";
    case JsonValue::Type::string:
      return "a string";
    case JsonValue::Type::array:
      return "an array";
    case JsonValue::Type::object:
      return "an object";
  }
  return "";
}

}  // namespace attn
