#include "io/json_value.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "io/number_array.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"

namespace attn {
namespace {

[[noreturn]] void throw_misread(const JsonValue& value, const char* wanted) {
  throw Error(
      ErrorKind::internal,
      translated("{1} in JSON was read as {2}", translated(type_text(value)), translated(wanted)),
      "", "");
}

}  // namespace

// Arrays of values take little memory.
static_assert(sizeof(JsonValue) == 16);

JsonValue::Type JsonValue::type() const noexcept {
  constexpr Type types[] = {Type::null,  Type::boolean, Type::number, Type::number, Type::string,
                            Type::array, Type::object,  Type::array,  Type::number};
  return types[data.index()];
}

bool JsonValue::boolean() const {
  if (const auto* truth = std::get_if<bool>(&data)) return *truth;
  throw_misread(*this, to_translate("a boolean"));
}

double JsonValue::number() const {
  if (const auto* number = std::get_if<double>(&data)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(&data)) return static_cast<double>(*integer);
  if (const auto* large = std::get_if<LargeInteger>(&data)) return large->nearest;
  throw_misread(*this, to_translate("a number"));
}

bool JsonValue::is_integer() const noexcept {
  // Both bounds are powers of two, which are exact as doubles.
  const auto* number = std::get_if<double>(&data);
  return std::holds_alternative<std::int64_t>(data) ||
         (number != nullptr && *number >= -0x1p63 && *number < 0x1p63 &&
          std::trunc(*number) == *number);
}

std::int64_t JsonValue::integer() const {
  if (const auto* integer = std::get_if<std::int64_t>(&data)) return *integer;
  if (is_integer()) return static_cast<std::int64_t>(std::get<double>(data));
  throw_misread(*this, to_translate("an integer"));
}

bool JsonValue::is_large_integer() const noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 53U;
  const auto* integer = std::get_if<std::int64_t>(&data);
  return std::holds_alternative<LargeInteger>(data) ||
         (integer != nullptr && (*integer > most || *integer < -most));
}

const std::string& JsonValue::string() const {
  if (const auto* text = std::get_if<Text>(&data)) return **text;
  throw_misread(*this, to_translate("a string"));
}

std::size_t JsonValue::size() const {
  if (const auto* array = std::get_if<Array>(&data)) return (*array)->size();
  if (const NumberBlock* numbers = block()) return numbers->shape()[0];
  if (const auto* object = std::get_if<Object>(&data)) return (*object)->size();
  throw_misread(*this, to_translate("an array"));
}

const JsonValue& JsonValue::element(std::size_t i) const {
  if (const NumberBlock* numbers = block()) return numbers->by_element().element(i);
  if (const auto* array = std::get_if<Array>(&data)) return (*array)->at(i);
  throw_misread(*this, to_translate("an array"));
}

const NumberBlock* JsonValue::block() const noexcept {
  const auto* numbers = std::get_if<Block>(&data);
  return numbers == nullptr ? nullptr : (*numbers)->get();
}

std::span<const JsonMember> JsonValue::members() const {
  if (const auto* object = std::get_if<Object>(&data)) return **object;
  throw_misread(*this, to_translate("an object"));
}

const JsonValue* JsonValue::find(std::string_view key) const noexcept {
  const auto* object = std::get_if<Object>(&data);
  if (object == nullptr) return nullptr;
  for (const JsonMember& member : **object) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::string pointer_to(std::string_view pointer, std::string_view key) {
  std::string result(pointer);
  result += '/';
  constexpr std::size_t long_key = 200;
  for (const char c : key.size() > long_key ? shown_name(key) : std::string(key)) {
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

namespace {

[[noreturn]] void refuse(const JsonValue& value, const std::string& place,
                         const std::string& expected, const std::string& help) {
  throw input_error(translated("expected {1}, found {2}", expected, translated(type_text(value))),
                    place, help.empty() ? translated("give {1}", expected) : help);
}

// `help`, or else how to write a number or a truth that is given as a string.
std::string without_quotes(const JsonValue& value, const std::string& help) {
  if (!help.empty() || !value.is(JsonValue::Type::string)) return help;
  double number = 0;
  const std::string& text = value.string();
  const bool meant = text == "true" || text == "false" || parse_number(text, number);
  return meant ? translated("write it without quotes: {1}", text) : help;
}

// Translated text, or no text: a catalogue's text for the empty one is its header.
std::string in_language(const char* text) {
  return *text == '\0' ? "" : translated(text);
}

}  // namespace

const JsonValue& expect_object(const JsonValue& value, const std::string& place,
                               const std::string& help) {
  if (!value.is(JsonValue::Type::object)) refuse(value, place, translated("an object"), help);
  return value;
}

const JsonValue& expect_array(const JsonValue& value, const std::string& place,
                              const std::string& help) {
  if (!value.is(JsonValue::Type::array)) refuse(value, place, translated("an array"), help);
  return value;
}

const std::string& expect_string(const JsonValue& value, const std::string& place,
                                 const std::string& help) {
  if (!value.is(JsonValue::Type::string)) refuse(value, place, translated("a string"), help);
  return value.string();
}

bool expect_boolean(const JsonValue& value, const std::string& place, const std::string& help) {
  if (!value.is(JsonValue::Type::boolean))
    refuse(value, place, translated("true or false"), without_quotes(value, help));
  return value.boolean();
}

double expect_number(const JsonValue& value, const std::string& place, const std::string& help) {
  if (value.is(JsonValue::Type::string) &&
      (value.string() == "nan" || value.string() == "inf" || value.string() == "-inf")) {
    throw input_error(translated("\"{1}\" is not a finite number", value.string()), place,
                      help.empty() ? translated("give a finite number") : help);
  }
  if (!value.is(JsonValue::Type::number)) {
    const bool formula = value.is(JsonValue::Type::string) && help.empty() &&
                         value.string().find_first_of("/*^(") != std::string::npos;
    refuse(value, place, translated("a number"),
           formula ? translated("give a number such as 0.125: JSON has no formulas")
                   : without_quotes(value, help));
  }
  return value.number();
}

std::int64_t expect_integer(const JsonValue& value, const std::string& place, std::int64_t least,
                            const std::string& help) {
  const double number = expect_number(value, place, help);
  if (value.is_integer() && value.integer() >= least) return value.integer();
  const std::string bound = least == INT64_MIN ? "" : translated(" of at least {1}", least);
  throw input_error(translated("expected a whole number{1}, found {2}", bound, number_text(number)),
                    place, help.empty() ? translated("give a whole number{1}", bound) : help);
}

std::size_t expect_name(const JsonValue& value, const std::string& place, const std::string& noun,
                        std::span<const std::string_view> names) {
  const std::string& name = expect_string(value, place, names.empty() ? "" : suggestion("", names));
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw input_error(translated("unknown {1} \"{2}\"", noun, name), place, suggestion(name, names));
}

const JsonValue* JsonObject::find(std::string_view key) const noexcept {
  const JsonValue* const found = value_.find(key);
  const bool absent =
      found == nullptr || (texts_.null_is_absent && found->is(JsonValue::Type::null));
  return absent ? nullptr : found;
}

const JsonValue& JsonObject::member(std::string_view key) const {
  if (const JsonValue* const found = find(key)) return *found;
  throw input_error(translated(texts_.missing, key), texts_.missing_in_object ? place_ : place(key),
                    in_language(texts_.missing_help));
}

std::string JsonObject::type_help() const {
  return in_language(texts_.type_help);
}

const std::string& JsonObject::string(std::string_view key) const {
  return expect_string(member(key), place(key), type_help());
}

bool JsonObject::boolean(std::string_view key) const {
  return expect_boolean(member(key), place(key), type_help());
}

double JsonObject::number(std::string_view key) const {
  return expect_number(member(key), place(key), type_help());
}

std::size_t JsonObject::count(std::string_view key, std::size_t least) const {
  return static_cast<std::size_t>(
      expect_integer(member(key), place(key), static_cast<std::int64_t>(least), type_help()));
}

const JsonValue& JsonObject::array(std::string_view key) const {
  return expect_array(member(key), place(key), type_help());
}

JsonObject JsonObject::object(std::string_view key) const {
  return {expect_object(member(key), place(key), type_help()), place(key), texts_};
}

std::optional<std::string> JsonObject::optional_string(std::string_view key) const {
  return find(key) == nullptr ? std::nullopt : std::optional(string(key));
}

std::optional<std::size_t> JsonObject::optional_count(std::string_view key) const {
  return find(key) == nullptr ? std::nullopt : std::optional(count(key));
}

}  // namespace attn
