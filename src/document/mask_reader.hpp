#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/spec.hpp"

#include "document/document.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// Reads a mask object and valid lengths of a document, either of which may be null. The sizes of
/// the mask's tensors are not checked here. Problems are added to `problems`, parts without effect
/// to `warnings`.
Mask read_mask(const JsonValue* mask, const JsonValue* valid_lens, const std::string& pointer,
               const std::string& lens_pointer, DType dtype, TensorSource& tensors,
               Problems& problems, std::vector<std::string>& warnings);

/// The JSON Schema of a mask: the members of the schema.
std::string mask_schema();

/// The parts of a mask in words: "causal, window of 2 before and 0 after, valid_lens".
std::string mask_text(const Mask& mask);

/// One query before a mask.
struct MaskedQuery {
  std::ptrdiff_t position;  ///< its place among the keys, from 0; negative = before all of them
  std::size_t valid_keys;   ///< number of leading keys that are valid
};
/// For each part that hides keys a sentence about those that it lets the query see, with positions
/// from 1: "causal: keys up to key 3".
std::vector<std::string> mask_sentences(const Mask& mask, const MaskedQuery& query);

/// Words for the keys that a part hides: in the legend of a picture, "outside window". `part` is
/// the name of one of hiding_parts().
std::string hidden_legend(std::string_view part);
/// A sentence about these keys: "window: keys more than 2 before the query".
std::string hidden_sentence(std::string_view part, const Mask& mask);

}  // namespace attn
