#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_value.hpp"

namespace attn {

/// Checked reading of the parts of a document. Each throws Error(input) at `pointer`, naming what
/// was expected.

const JsonValue& expect_object(const JsonValue& value, const std::string& pointer);
const std::string& expect_string(const JsonValue& value, const std::string& pointer);
bool expect_boolean(const JsonValue& value, const std::string& pointer);
/// A finite number.
double expect_number(const JsonValue& value, const std::string& pointer);
std::int64_t expect_integer(const JsonValue& value, const std::string& pointer, std::int64_t least);

/// The index of a string among the names; `noun` is what they name: "unknown activation \"x\"".
std::size_t expect_name(const JsonValue& value, const std::string& pointer, const std::string& noun,
                        std::span<const std::string_view> names);

/// The value that a string names in a table of Named.
template <class Table>
auto expect_choice(const JsonValue& value, const std::string& pointer, const std::string& noun,
                   const Table& table) {
  std::vector<std::string_view> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.push_back(row.name);
  return table[expect_name(value, pointer, noun, names)].value;
}

/// Throws for the first member that is not among `known`, with the nearest known name.
void expect_known_keys(const JsonValue& object, std::span<const std::string_view> known,
                       const std::string& pointer);

}  // namespace attn
