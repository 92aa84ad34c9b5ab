#pragma once

#include <string>
#include <vector>

#include "attn/io.hpp"

#include "io/json_value.hpp"

namespace attn {

/// A tensor in a JSON text, by its path ("attentions.3") and its JSON pointer.
struct JsonTensor {
  std::string name, pointer;
  const JsonValue* value = nullptr;
};

/// Tensors in objects and arrays within one another, and what else there is.
struct JsonMembers {
  std::vector<JsonTensor> tensors;
  std::vector<OtherMember> others;
};

/// The members of an object or array at `pointer`, whose path is `path`. Arrays of matrices of
/// several shapes are containers of these. The value must stay.
JsonMembers json_members(const JsonValue& value, const std::string& pointer,
                         const std::string& path);

/// Texts of an array of strings, of objects with a "token" or "text", or of such arrays, one a
/// sample. None of other values.
std::vector<std::vector<std::string>> texts_of(const JsonValue& value);

}  // namespace attn
