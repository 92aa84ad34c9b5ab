#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_value.hpp"
#include "models/family_row.hpp"

namespace attn {

/// A key that is refused with other values than one.
struct RefusedKey {
  std::string_view key;
  /// The consequence of another value, marked for translated().
  const char* wrong;
  /// The number or truth that changes nothing, as do null, {}, [] and "".
  double neutral = 0;
};

/// Keys by what becomes of them: obeyed, refused, or without effect on any number here.
struct KeysByTreatment {
  std::span<const std::string_view> done, harmless;
  std::span<const RefusedKey> refused;
};

/// Keys that transformers 5.24 reads in code that all families share (configuration_utils,
/// modeling_utils, masking_utils, modeling_rope_utils); among those that are refused also keys of
/// single families, which other rows do not read.
KeysByTreatment library_keys() noexcept;

/// Members of "rope_parameters" and "rope_scaling", likewise.
KeysByTreatment rope_keys() noexcept;

/// Whether a value is that number or truth, null, {}, [] or "".
bool is_neutral(const JsonValue& value, double neutral);

/// A value as texts show it: "true", "0.5", "\"fp8\"", "an object".
std::string shown_value(const JsonValue& value);

/// Throws Error(input) for weights that are quantized in a way that is not read, and for decoders
/// that read another model's states.
void refuse_unsupported(const JsonValue& config);

/// Throws Error(input) at a key of the configuration with which the family's own code computes
/// something else than its row says, or which would change the result and which the row does not
/// read. The error says what would be computed wrongly.
void refuse_unread(const JsonValue& config, const FamilyRow& row);

/// Warnings of keys that other libraries or families have for a number which the family's code
/// looks for under another key, and does not find.
std::vector<std::string> keys_of_others(const JsonValue& config, const FamilyRow& row,
                                        const std::string& family);

/// Throws Error(input) at a member of such an object at that JSON pointer that would change
/// rotations and is not read. `queries_grow`: whether the family's queries grow with their
/// position. Returns the names of members that are not known.
std::vector<std::string> unknown_rope_keys(const JsonValue& object, const std::string& place,
                                           bool queries_grow);

}  // namespace attn
