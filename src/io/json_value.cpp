#include "io/json_value.hpp"

#include <cmath>

#include "attn/error.hpp"

#include "io/number_block.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

[[noreturn]] void throw_misread(const JsonValue& value, const char* wanted) {
  throw Error(
      ErrorKind::internal,
      translated("{1} in JSON was read as {2}", translated(type_text(value)), translated(wanted)),
      "", "");
}

}  // namespace

JsonValue::Number JsonValue::number_of(double value) noexcept {
  // Both bounds are powers of two, so they are exact as doubles.
  const bool integral = value >= -0x1p63 && value < 0x1p63 && std::trunc(value) == value;
  return {value, integral ? static_cast<std::int64_t>(value) : 0, integral};
}

JsonValue::Type JsonValue::type() const noexcept {
  constexpr Type types[] = {Type::null,  Type::boolean, Type::number, Type::string,
                            Type::array, Type::object,  Type::array};
  return types[data.index()];
}

bool JsonValue::boolean() const {
  if (const auto* truth = std::get_if<bool>(&data)) return *truth;
  throw_misread(*this, to_translate("a boolean"));
}

double JsonValue::number() const {
  if (const auto* number = std::get_if<Number>(&data)) return number->value;
  throw_misread(*this, to_translate("a number"));
}

bool JsonValue::is_integer() const noexcept {
  const auto* number = std::get_if<Number>(&data);
  return number != nullptr && number->is_integer;
}

std::int64_t JsonValue::integer() const {
  if (is_integer()) return std::get<Number>(data).integer;
  throw_misread(*this, to_translate("an integer"));
}

const std::string& JsonValue::string() const {
  if (const auto* text = std::get_if<std::string>(&data)) return *text;
  throw_misread(*this, to_translate("a string"));
}

std::size_t JsonValue::size() const {
  if (const auto* array = std::get_if<Array>(&data)) return array->size();
  if (const NumberBlock* numbers = block()) return numbers->shape()[0];
  if (const auto* object = std::get_if<Object>(&data)) return object->size();
  throw_misread(*this, to_translate("an array"));
}

const JsonValue& JsonValue::element(std::size_t i) const {
  if (const NumberBlock* numbers = block()) return numbers->by_element().element(i);
  if (const auto* array = std::get_if<Array>(&data)) return array->at(i);
  throw_misread(*this, to_translate("an array"));
}

const NumberBlock* JsonValue::block() const noexcept {
  const auto* numbers = std::get_if<Block>(&data);
  return numbers == nullptr ? nullptr : numbers->get();
}

std::span<const JsonMember> JsonValue::members() const {
  if (const auto* object = std::get_if<Object>(&data)) return *object;
  throw_misread(*this, to_translate("an object"));
}

const JsonValue* JsonValue::find(std::string_view key) const noexcept {
  const auto* object = std::get_if<Object>(&data);
  if (object == nullptr) return nullptr;
  for (const JsonMember& member : *object) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
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
      return to_translate("null");
    case JsonValue::Type::boolean:
      return value.boolean() ? "true" : "false";
    case JsonValue::Type::number:
      return to_translate("a number");
    case JsonValue::Type::string:
      return to_translate("a string");
    case JsonValue::Type::array:
      return to_translate("an array");
    case JsonValue::Type::object:
      return to_translate("an object");
  }
  return "";
}

}  // namespace attn
