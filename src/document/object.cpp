#include "document/object.hpp"

#include <algorithm>
#include <cmath>

#include "attn/error.hpp"

#include "support/nearest_name.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

[[noreturn]] void refuse(const JsonValue& value, const std::string& pointer,
                         const std::string& expected) {
  throw input_error(translated("expected {1}, found {2}", expected, translated(type_text(value))),
                    pointer, translated("give {1}", expected));
}

}  // namespace

const JsonValue& expect_object(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::object)) refuse(value, pointer, translated("an object"));
  return value;
}

const std::string& expect_string(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::string)) refuse(value, pointer, translated("a string"));
  return value.string();
}

bool expect_boolean(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::boolean)) refuse(value, pointer, translated("true or false"));
  return value.boolean();
}

double expect_number(const JsonValue& value, const std::string& pointer) {
  if (value.is(JsonValue::Type::string) &&
      (value.string() == "nan" || value.string() == "inf" || value.string() == "-inf")) {
    throw input_error(translated("\"{1}\" is no finite number", value.string()), pointer,
                      translated("give a finite number"));
  }
  if (!value.is(JsonValue::Type::number)) refuse(value, pointer, translated("a number"));
  return value.number();
}

std::int64_t expect_integer(const JsonValue& value, const std::string& pointer,
                            std::int64_t least) {
  const double number = expect_number(value, pointer);
  if (value.is_integer() && value.integer() >= least) return value.integer();
  const std::string bound = least == INT64_MIN ? "" : translated(" of at least {1}", least);
  throw input_error(translated("expected a whole number{1}, found {2}", bound, number_text(number)),
                    pointer, translated("give a whole number{1}", bound));
}

std::size_t expect_name(const JsonValue& value, const std::string& pointer, const std::string& noun,
                        std::span<const std::string_view> names) {
  const std::string& name = expect_string(value, pointer);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw input_error(translated("unknown {1} \"{2}\"", noun, name), pointer,
                    suggestion(name, names));
}

void expect_known_keys(const JsonValue& object, std::span<const std::string_view> known,
                       const std::string& pointer) {
  for (const JsonMember& member : expect_object(object, pointer).members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    throw input_error(translated("unknown key \"{1}\"", member.key),
                      pointer_to(pointer, member.key), suggestion(member.key, known));
  }
}

}  // namespace attn
