#pragma once

#include <string>
#include <vector>

#include "attn/spec.hpp"

#include "io/json_value.hpp"

namespace attn {

/// The kinds a document asks for: one, or a list; Kind::model beside a model. Throws Error(input)
/// if there is none, one is unknown or stands twice.
std::vector<Kind> read_kinds(const JsonValue& root);

/// Whether an object has a kind of attention among its keys: parameters by kind, {kind: {…}}.
bool has_kinds(const JsonValue& object);

/// The member of such an object that is meant for the kind, by name or alias; null if there is
/// none. Throws Error(input) for a key that is no kind. `pointer` is the object's.
const JsonMember* find_by_kind(const JsonValue& object, Kind kind, const std::string& pointer);

}  // namespace attn
