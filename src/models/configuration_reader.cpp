#include "models/configuration_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {

const JsonValue* present_member(const JsonValue& object, std::string_view key) {
  if (!object.is(JsonValue::Type::object)) return nullptr;
  const JsonValue* value = object.find(key);
  return value == nullptr || value->is(JsonValue::Type::null) ? nullptr : value;
}

void refuse_key(const std::string& key, const std::string& problem, const std::string& help) {
  throw input_error(problem, pointer_to("", key), help);
}

void refuse_type(const std::string& key, const JsonValue& value, const std::string& wanted,
                 const std::string& part) {
  throw input_error(
      translated("expected {1}, found {2}", translated(wanted), translated(type_text(value))),
      pointer_to(part, key), translated("this is not a configuration as the libraries write it"));
}

double positive(const std::string& key, double number, const std::string& part) {
  if (number > 0 && std::isfinite(number)) return number;
  throw input_error(
      translated("{1} is {2}, which is not a positive number", in_quotes(key), number_text(number)),
      pointer_to(part, key),
      translated("the states would not be numbers: use the configuration as published"));
}

std::vector<std::string> strings_of(const JsonValue& value) {
  std::vector<std::string> result;
  if (value.is(JsonValue::Type::string)) {
    result.push_back(value.string());
  } else {
    for (std::size_t i = 0; i < value.size(); ++i) result.push_back(value.element(i).string());
  }
  return result;
}

std::size_t size_of_number(double number) noexcept {
  return static_cast<std::size_t>(std::clamp(number, 0.0, 0x1p53));
}

const JsonValue* ConfigurationReader::find(std::string_view key) const {
  const JsonValue* value = present_member(config_, key);
  for (const std::string& name : row_.parts) {
    const JsonValue* part = present_member(config_, name);
    if (value == nullptr && part != nullptr) value = present_member(*part, key);
  }
  return value == nullptr ? present_member(row_.defaults, key) : value;
}

const JsonValue* ConfigurationReader::find(const std::string& key, JsonValue::Type type,
                                           const char* wanted) const {
  const JsonValue* value = find(key);
  if (value != nullptr && !value->is(type)) refuse_type(key, *value, wanted);
  return value;
}

std::optional<double> ConfigurationReader::number(const std::string& key) const {
  const JsonValue* value = find(key, JsonValue::Type::number, to_translate("a number"));
  return value == nullptr ? std::nullopt : std::optional(value->number());
}

std::optional<std::size_t> ConfigurationReader::count(const std::string& key) const {
  constexpr const char* wanted = to_translate("a whole number of at least 0");
  const JsonValue* value = find(key, JsonValue::Type::number, wanted);
  if (value == nullptr) return std::nullopt;
  if (!value->is_integer() || value->integer() < 0) refuse_type(key, *value, wanted);
  return static_cast<std::size_t>(value->integer());
}

std::optional<bool> ConfigurationReader::boolean(const std::string& key) const {
  const JsonValue* value = find(key, JsonValue::Type::boolean, to_translate("true or false"));
  return value == nullptr ? std::nullopt : std::optional(value->boolean());
}

std::optional<std::string> ConfigurationReader::text(const std::string& key) const {
  const JsonValue* value = find(key, JsonValue::Type::string, to_translate("a string"));
  return value == nullptr ? std::nullopt : std::optional(value->string());
}

std::optional<std::size_t> ConfigurationReader::first_count(
    std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    if (const auto found = count(key)) return found;
  }
  return std::nullopt;
}

std::size_t ConfigurationReader::required(const std::string& meaning,
                                          std::initializer_list<const char*> keys) const {
  const auto found = first_count(keys);
  if (found && *found > 0) return *found;
  std::string names;
  for (const char* key : keys) names += (names.empty() ? "" : name_separator()) + std::string(key);
  throw input_error(translated("the configuration does not give the {1}", meaning), "",
                    translated("it is looked for under {1}", names));
}

std::optional<std::string> ConfigurationReader::listed(const std::vector<std::string>& keys) const {
  for (const std::string& key : keys) {
    if (find(key) != nullptr) return key;
  }
  return std::nullopt;
}

bool ConfigurationReader::given_as_null(const std::vector<std::string>& keys) const {
  return std::ranges::any_of(keys, [&](const std::string& key) {
    const JsonValue* own = config_.find(key);
    return own != nullptr && own->is(JsonValue::Type::null);
  });
}

Activation activation_of(const std::string& name, const std::string& place) {
  constexpr std::array<std::pair<std::string_view, Activation>, 14> known{{
      {"relu", Activation::relu},
      {"relu2", Activation::relu_squared},
      {"gelu", Activation::gelu},
      {"gelu_python", Activation::gelu},
      {"gelu_new", Activation::gelu_tanh},
      {"gelu_pytorch_tanh", Activation::gelu_tanh},
      {"gelu_fast", Activation::gelu_tanh},
      {"gelu_bloom", Activation::gelu_bloom},
      {"quick_gelu", Activation::quick_gelu},
      {"silu", Activation::silu},
      {"swish", Activation::silu},
      {"gelu_accurate", Activation::gelu_tanh},
      {"swiglu", Activation::silu},
      {"geglu", Activation::gelu},
  }};
  std::vector<std::string_view> names;
  for (const auto& [other, activation] : known) {
    if (other == name) return activation;
    names.push_back(other);
  }
  throw input_error(translated("the activation {1} is not known", in_quotes(name)), place,
                    suggestion(name, names));
}

}  // namespace attn
