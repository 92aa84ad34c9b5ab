#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

/// Throws for the first member that is not among `known`, with the nearest known name.
void expect_known_keys(const JsonValue& object, std::span<const std::string_view> known,
                       const std::string& pointer);

}  // namespace attn
