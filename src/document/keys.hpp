#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attn/spec.hpp"

#include "document/problems.hpp"
#include "io/json_value.hpp"

namespace attn {

/// One top-level key of an input document.
struct DocumentKey {
  std::string_view name;
  bool (*takes)(const KindInfo& kind);  ///< whether it has a meaning for that kind
  std::string_view meaning;
  std::string_view schema;  ///< members of its JSON Schema
};

/// All of them, in the order they are listed to users.
std::span<const DocumentKey> document_keys() noexcept;

/// Adds a problem for each top-level key that is unknown, with the nearest known name.
void check_document_keys(const JsonValue& root, Problems& problems);

/// Adds a problem for each key that has no meaning for any of the kinds.
void check_keys_of_kinds(const JsonValue& root, std::span<const Kind> kinds, Problems& problems);

}  // namespace attn
