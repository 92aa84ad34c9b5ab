#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/json_value.hpp"
#include "models/pass.hpp"

namespace attn {

/// Lists of ids [[…],…] of a recorded document; none without a value.
inline std::vector<std::vector<std::int64_t>> id_lists(const JsonValue* value) {
  std::vector<std::vector<std::int64_t>> result;
  for (std::size_t i = 0; value != nullptr && i < value->size(); ++i) {
    const JsonValue list = value->element(i);
    result.emplace_back();
    for (std::size_t j = 0; j < list.size(); ++j) {
      result.back().push_back(list.element(j).integer());
    }
  }
  return result;
}

/// Takes the heads that a recorded document switches off.
inline void read_heads_off(const JsonValue& document, ModelOptions& options) {
  const JsonValue* off = document.find("heads_off");
  if (off == nullptr) return;
  for (const JsonMember& layer : off->members()) {
    for (std::size_t i = 0; i < layer.value.size(); ++i) {
      options.heads_off.push_back(ModelPlace::parse(layer.key).value().with_head(
          static_cast<std::size_t>(layer.value.element(i).integer())));
    }
  }
}

}  // namespace attn
