#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/spec.hpp"

#include "document/problems.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// Reads a mask object and valid lengths of a document (either may be null) into a Mask whose
/// tensors are not yet held against the attention's sizes. What is wrong goes into `problems`; what
/// implies nothing, into `warnings`.
Mask read_mask(const JsonValue* mask, const JsonValue* valid_lens, const std::string& pointer,
               const std::string& lens_pointer, DType dtype, TensorSource& tensors,
               Problems& problems, std::vector<std::string>& warnings);

/// Members of the JSON Schema of one part of a mask; empty for an unknown name.
std::string_view mask_part_schema(std::string_view name) noexcept;

/// The parts of a mask in words: "causal, window of 2 before and 0 after, valid_lens".
std::string mask_text(const Mask& mask);

/// One query before a mask: where it stands among the keys, from 0, and how many leading ones are
/// valid.
struct MaskedQuery {
  std::ptrdiff_t position;
  std::size_t valid_keys;
};
/// What each part lets that query see: "causal: keys up to key 3", counted from 1.
std::vector<std::string> mask_sentences(const Mask& mask, const MaskedQuery& query);

/// Words for the keys that one part of a mask hides, by its name (see hiding_parts()): in the
/// legend of a picture, "outside window".
std::string hidden_legend(std::string_view part);
/// Sentence about these keys: "window: keys more than 2 before the query".
std::string hidden_sentence(std::string_view part, const Mask& mask);

}  // namespace attn
