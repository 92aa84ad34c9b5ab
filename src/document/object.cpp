#include "document/object.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "support/nearest_name.hpp"
#include "support/number_text.hpp"

namespace attn {
namespace {

[[noreturn]] void refuse(const JsonValue& value, const std::string& pointer,
                         const std::string& expected) {
  throw input_error("expected " + expected + ", found " + std::string(type_text(value)), pointer,
                    "give " + expected);
}

}  // namespace

const JsonValue& expect_object(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::object)) refuse(value, pointer, "an object");
  return value;
}

const std::string& expect_string(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::string)) refuse(value, pointer, "a string");
  return value.string();
}

bool expect_boolean(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::boolean)) refuse(value, pointer, "true or false");
  return value.boolean();
}

double expect_number(const JsonValue& value, const std::string& pointer) {
  if (value.is(JsonValue::Type::string) &&
      (value.string() == "nan" || value.string() == "inf" || value.string() == "-inf")) {
    throw input_error("\"" + value.string() + "\" is no finite number", pointer,
                      "give a finite number");
  }
  if (!value.is(JsonValue::Type::number)) refuse(value, pointer, "a number");
  return value.number();
}

std::int64_t expect_integer(const JsonValue& value, const std::string& pointer,
                            std::int64_t least) {
  const double number = expect_number(value, pointer);
  if (value.is_integer() && value.integer() >= least) return value.integer();
  const std::string bound = least == INT64_MIN ? "" : " of at least " + std::to_string(least);
  throw input_error("expected a whole number" + bound + ", found " + number_text(number), pointer,
                    "give a whole number" + bound);
}

std::size_t expect_name(const JsonValue& value, const std::string& pointer, const std::string& noun,
                        std::span<const std::string_view> names) {
  const std::string& name = expect_string(value, pointer);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw input_error("unknown " + noun + " \"" + name + "\"", pointer, suggestion(name, names));
}

void expect_known_keys(const JsonValue& object, std::span<const std::string_view> known,
                       const std::string& pointer) {
  for (const JsonMember& member : expect_object(object, pointer).members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    throw input_error("unknown key \"" + member.key + "\"", pointer_to(pointer, member.key),
                      suggestion(member.key, known));
  }
}

}  // namespace attn
