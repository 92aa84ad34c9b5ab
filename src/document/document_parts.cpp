#include "document/document_parts.hpp"

#include <algorithm>

#include "document/keys.hpp"

namespace attn {

const JsonValue* DocumentParts::find(std::string_view key) const {
  const auto keys = document_keys();
  const auto row =
      std::find_if(keys.begin(), keys.end(), [&](const DocumentKey& k) { return k.name == key; });
  return row != keys.end() && row->takes(kind()) ? root.find(key) : nullptr;
}

std::string DocumentParts::second_name() const {
  return second ? TokenReader::key(root, "memory_") : is(Family::score) ? "key" : "memory";
}

DocumentNames DocumentParts::names_of_tensors() const {
  DocumentNames names;
  if (first) {
    names.tensor("query", TokenReader::key(root, ""));
  } else if (root.find("x") && is_projecting()) {
    names.tensor("query", "x");
  }
  if (decoder() && second) names.tensor("memory", second_name());
  const bool own = root.find("x") || first;
  if (second || (own && is_projecting() && states.key)) {
    names.tensor("key", second_name());
    if (is_projecting()) names.tensor("value", second_name());
  }
  return names;
}

}  // namespace attn
