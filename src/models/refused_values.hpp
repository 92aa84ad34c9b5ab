#pragma once

#include "io/json_value.hpp"
#include "models/family_row.hpp"

namespace attn {

/// Throws Error(input) at a key of the configuration that says what no family computes: weights
/// quantized in a way that is not read, or states of another model.
void refuse_unsupported(const JsonValue& config);

/// Throws Error(input) at a key of the configuration with which the family's own code computes
/// something else than its row says, or which would change the result and which the row does not
/// read. The error says what would be computed wrongly.
void refuse_unread(const JsonValue& config, const FamilyRow& row);

}  // namespace attn
