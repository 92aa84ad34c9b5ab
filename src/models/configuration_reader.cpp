#include "models/configuration_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/nearest_name.hpp"
#include "support/number_text.hpp"
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

void refuse_type(const std::string& key, const JsonValue& value, const std::string& wanted) {
  throw input_error(
      translated("expected {1}, found {2}", translated(wanted), translated(type_text(value))),
      pointer_to("", key), translated("this is no configuration as the libraries write it"));
}

double positive(const std::string& key, double number, const std::string& part) {
  if (number > 0 && std::isfinite(number)) return number;
  throw input_error(
      translated("{1} is {2}, which is no positive number", in_quotes(key), number_text(number)),
      pointer_to(part, key),
      translated("the states would be no numbers: take the configuration as it was published"));
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
  return value == nullptr && defaults_ != nullptr ? present_member(*defaults_, key) : value;
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
  constexpr const char* wanted = to_translate("a whole number from 0 on");
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
  for (const char* key : keys) names += (names.empty() ? "" : ", ") + std::string(key);
  throw input_error(translated("the configuration does not say the {1}", meaning), "",
                    translated("it is looked for under {1}", names));
}

std::optional<std::string> ConfigurationReader::listed(const JsonValue& part,
                                                       std::string_view list) const {
  const JsonValue* keys = present_member(part, list);
  if (keys == nullptr) return std::nullopt;
  for (std::string& key : strings_of(*keys)) {
    if (find(key) != nullptr) return std::move(key);
  }
  return std::nullopt;
}

std::optional<double> ConfigurationReader::chosen(const JsonValue& part, const std::string& name,
                                                  std::string_view list) const {
  if (const auto key = listed(part, list)) return number(*key);
  const JsonValue* own = present_member(part, name);
  return own == nullptr ? std::nullopt : std::optional(own->number());
}

bool ConfigurationReader::chosen_boolean(const JsonValue& part, const std::string& name,
                                         std::string_view list, bool otherwise) const {
  if (const auto key = listed(part, list)) return *boolean(*key);
  const JsonValue* own = present_member(part, name);
  return own == nullptr ? otherwise : own->boolean();
}

bool ConfigurationReader::given_as_null(const JsonValue& part, std::string_view list) const {
  const JsonValue* keys = present_member(part, list);
  if (keys == nullptr) return false;
  const std::vector<std::string> names = strings_of(*keys);
  return std::any_of(names.begin(), names.end(), [&](const std::string& key) {
    const JsonValue* value = config_.find(key);
    return value != nullptr && value->is(JsonValue::Type::null);
  });
}

ModelActivation activation_of(const std::string& name, const std::string& key) {
  constexpr std::array<std::pair<std::string_view, ModelActivation>, 11> known{{
      {"relu", ModelActivation::relu},
      {"gelu", ModelActivation::gelu},
      {"gelu_python", ModelActivation::gelu},
      {"gelu_new", ModelActivation::gelu_tanh},
      {"gelu_pytorch_tanh", ModelActivation::gelu_tanh},
      {"gelu_fast", ModelActivation::gelu_tanh},
      {"gelu_bloom", ModelActivation::gelu_bloom},
      {"quick_gelu", ModelActivation::quick_gelu},
      {"silu", ModelActivation::silu},
      {"swish", ModelActivation::silu},
      {"gelu_accurate", ModelActivation::gelu_tanh},
  }};
  std::vector<std::string_view> names;
  for (const auto& [other, activation] : known) {
    if (other == name) return activation;
    names.push_back(other);
  }
  refuse_key(key, translated("the activation {1} is not known", in_quotes(name)),
             suggestion(name, names));
}

ModelActivation read_activation(const ConfigurationReader& reader, const JsonValue& part,
                                const std::string& otherwise) {
  if (const auto key = reader.listed(part, "activation_keys")) {
    return activation_of(*reader.text(*key), *key);
  }
  const JsonValue* own = present_member(part, "activation");
  return activation_of(own == nullptr ? otherwise : own->string(), "activation");
}

}  // namespace attn
