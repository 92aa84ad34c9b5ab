#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_value.hpp"
#include "models/architecture.hpp"

namespace attn {

/// A member that is there and not null; configurations write null for what is left to the default.
/// Null if there is none.
const JsonValue* present_member(const JsonValue& object, std::string_view key);

/// Throws Error(input) at the key of the configuration.
[[noreturn]] void refuse_key(const std::string& key, const std::string& problem,
                             const std::string& help);
/// The same for a value of another type than `wanted`.
[[noreturn]] void refuse_type(const std::string& key, const JsonValue& value,
                              const std::string& wanted);

/// The number, which must be finite and more than 0. Throws Error(input) at the key of the part of
/// the configuration otherwise.
double positive(const std::string& key, double number, const std::string& part = "");

/// A string, or all of a list.
std::vector<std::string> strings_of(const JsonValue& value);

/// The number as a size: 0 for what is below, 2⁵³ for what is beyond, where not every whole number
/// is a double any more.
std::size_t size_of_number(double number) noexcept;

/// Reads numbers and texts of a configuration under the names that its row gives them.
class ConfigurationReader {
 public:
  ConfigurationReader(const JsonValue& config, const JsonValue& row)
      : config_(config), row_(row), defaults_(present_member(row, "defaults")) {}

  const JsonValue* find(std::string_view key) const;
  std::optional<double> number(const std::string& key) const;
  std::optional<std::size_t> count(const std::string& key) const;
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;
  std::optional<std::size_t> first_count(std::initializer_list<const char*> keys) const;
  std::size_t required(const std::string& meaning, std::initializer_list<const char*> keys) const;
  /// The first of the keys that a part of the row lists under `list`.
  std::optional<std::string> listed(const JsonValue& part, std::string_view list) const;
  /// The number under one of the keys listed, else the one that the row itself gives.
  std::optional<double> chosen(const JsonValue& part, const std::string& name,
                               std::string_view list) const;
  bool chosen_boolean(const JsonValue& part, const std::string& name, std::string_view list,
                      bool otherwise) const;
  /// Whether the configuration has one of the keys listed, and it is null: there is none of it.
  bool given_as_null(const JsonValue& part, std::string_view list) const;
  const JsonValue& row() const { return row_; }

 private:
  // Null if it is not there. Throws Error(input) if it is of another type.
  const JsonValue* find(const std::string& key, JsonValue::Type type, const char* wanted) const;

  const JsonValue& config_;
  const JsonValue& row_;
  const JsonValue* defaults_;
};

/// The activation that configurations name so. Throws Error(input) at the key.
ModelActivation activation_of(const std::string& name, const std::string& key);
/// What the configuration says under the keys that `part` of a row lists, else the part's own, else
/// `otherwise`.
ModelActivation read_activation(const ConfigurationReader& reader, const JsonValue& part,
                                const std::string& otherwise);

}  // namespace attn
