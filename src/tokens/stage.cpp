#include "tokens/stage.hpp"

#include <algorithm>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/nearest_name.hpp"
#include "support/translated.hpp"
#include "tokens/characters.hpp"

namespace attn {
namespace {

Error unexpected(const JsonValue& value, const std::string& wanted, const std::string& where) {
  return input_error(translated("expected {1}, found {2}", wanted, translated(type_text(value))),
                     where, translated("take the file as it was published, or write it again"));
}

}  // namespace

const JsonValue& expect_list(const JsonValue& value, const std::string& where) {
  if (!value.is(JsonValue::Type::array)) throw unexpected(value, translated("an array"), where);
  return value;
}

const std::string& Stage::type() const {
  if (!value.is(JsonValue::Type::object)) throw unexpected(value, translated("an object"), where);
  const JsonValue& type = need("type");
  if (!type.is(JsonValue::Type::string)) throw unexpected(type, translated("a string"), at("type"));
  return type.string();
}

void Stage::expect_keys(std::initializer_list<std::string_view> keys) const {
  for (const JsonMember& member : value.members()) {
    if (member.key == "type" || std::find(keys.begin(), keys.end(), member.key) != keys.end()) {
      continue;
    }
    throw input_error(
        translated("the key {1} of {2} is not supported", in_quotes(member.key), type()),
        at(member.key),
        translated("leaving it out could give other tokens: remove it only if it does not matter"));
  }
}

const JsonValue* Stage::find(std::string_view key) const {
  const JsonValue* found = value.find(key);
  return found == nullptr || found->is(JsonValue::Type::null) ? nullptr : found;
}

const JsonValue& Stage::need(std::string_view key) const {
  const JsonValue* found = value.find(key);
  if (found == nullptr) {
    throw input_error(translated("the key {1} is missing", in_quotes(key)), where,
                      translated("take the file as it was published, or write it again"));
  }
  return *found;
}

bool Stage::boolean(std::string_view key, std::optional<bool> otherwise) const {
  if (otherwise && find(key) == nullptr) return *otherwise;
  const JsonValue& found = need(key);
  if (!found.is(JsonValue::Type::boolean))
    throw unexpected(found, translated("true or false"), at(key));
  return found.boolean();
}

std::string Stage::string(std::string_view key) const {
  const JsonValue& found = need(key);
  if (!found.is(JsonValue::Type::string)) throw unexpected(found, translated("a string"), at(key));
  return found.string();
}

std::optional<std::string> Stage::optional_string(std::string_view key) const {
  if (find(key) == nullptr) return std::nullopt;
  return string(key);
}

std::int64_t Stage::integer(std::string_view key, std::int64_t most) const {
  const JsonValue& found = need(key);
  if (!found.is(JsonValue::Type::number) || !found.is_integer() || found.integer() < 0 ||
      found.integer() > most) {
    throw unexpected(found, translated("an integer from 0 to {1}", most), at(key));
  }
  return found.integer();
}

char32_t Stage::character(std::string_view key) const {
  const std::string text = string(key);
  std::size_t at_byte = 0;
  const char32_t c = text.empty() ? 0 : next_character(text, at_byte);
  if (text.empty() || at_byte != text.size()) {
    throw input_error(translated("expected one character, found {1}", in_quotes(text)), at(key),
                      translated("give a single character"));
  }
  return c;
}

void refuse_type(const Stage& stage, const std::string& kind,
                 std::initializer_list<std::string_view> known) {
  const std::vector<std::string_view> names(known);
  throw input_error(translated("{1} {2} is not supported", kind, in_quotes(stage.type())),
                    stage.at("type"), suggestion(stage.type(), names));
}

}  // namespace attn
