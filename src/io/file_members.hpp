#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
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

/// Names and reasons of the first twelve: "tokens": strings; "meta": a value of argparse.Namespace
std::string others_text(std::span<const OtherMember> others);

/// The error of a member that was asked for as a tensor.
Error not_a_tensor(const OtherMember& other);
/// The error of a file without tensors.
Error no_tensors(std::span<const OtherMember> others);

/// Texts that a text lists: a JSON array of strings or of such arrays, or words with white space
/// between them. None of another text, and of one word.
std::vector<std::vector<std::string>> texts_of_list(std::string_view text);

}  // namespace attn
