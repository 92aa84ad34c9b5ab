#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/json_value.hpp"

namespace attn {

/// What to write in place of a top-level key of other libraries, or of one that belongs into an
/// object of the document; empty for any other key. `root` is the document.
std::string help_for_foreign_key(const JsonValue& root, std::string_view name);

/// What to write in place of a member of other libraries in an object whose own key is `outer`;
/// empty for any other member, and where the object takes none of its `known` ones for it.
std::string help_for_foreign_member(const JsonValue& object, std::string_view outer,
                                    std::string_view name, std::span<const std::string_view> known);

/// What to write in place of a top-level key of other libraries that stands in the part `outer`,
/// "/mask"; empty for any other key.
std::string help_for_key_outside(std::string_view name, const std::string& outer);

/// What to write in place of a kind that is none here but a choice beside one; empty for any other.
std::string help_for_foreign_kind(std::string_view name);

/// Whether a top-level key of other libraries names the kind of attention, or a model.
bool is_foreign_kind(std::string_view name);
bool is_foreign_model(std::string_view name);

}  // namespace attn
