#pragma once

#include <string>

#include "io/json_value.hpp"
#include "models/architecture.hpp"

namespace attn {

/// Of a configuration of several parts that of the language model, else all of it.
const JsonValue& language_part(const JsonValue& config);

/// Its "model_type"; empty if it has none.
std::string family_of(const JsonValue& config);

/// The row of the configuration's family, or the user's, with all that it takes over and what it
/// says of such configurations. Throws Error(input) for a family that is not known.
JsonValue row_of(const JsonValue& config, const JsonValue* row);

/// The row with its "part_sizes" among its defaults: the language part of a model of several parts
/// says only what differs from them. Key heads go with the query heads, said or not.
JsonValue with_part_sizes(const JsonValue& row, const JsonValue& part);

}  // namespace attn
