#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/spec.hpp"

#include "document/document.hpp"
#include "document/packed_sequences.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// A JSON pointer as texts show it: "mask.keep" of "/mask/keep".
std::string shown_place(std::string pointer);

/// A mask of a document, and what is not decided before the sizes are known.
struct ReadMask : Mask {
  std::string pointer = {};                     ///< JSON pointer of the object
  Tensor keep = {};                             ///< of "keep", numbers as given; see settle_mask()
  std::string keep_at = {};                     ///< its JSON pointer; empty = the document has none
  SequenceEnds query_ends = {}, key_ends = {};  ///< "cu_seqlens" of each side
  std::string ends_at = {};                     ///< their JSON pointer
  Tensor query_lens = {};                       ///< int64 [B]: valid lengths of the queries
  std::string query_lens_at = {};               ///< its JSON pointer
  bool aligned = false;                         ///< whether the document says the alignment

  /// "mask.keep" or "attention_mask"
  std::string keep_name() const { return shown_place(keep_at); }
};

/// Places of a mask in a document, and their values, each of which may be null.
struct MaskSource {
  const JsonValue *mask = nullptr, *valid_lens = nullptr;
  std::string pointer, lens_pointer;
  /// The document's own "attention_mask", another place for "keep".
  const JsonValue* keep = nullptr;
};

/// Reads a mask. The sizes of its tensors are not checked here. Problems are added to `problems`,
/// parts without effect to `warnings`.
ReadMask read_mask(const MaskSource& source, DType dtype, TensorSource& tensors, Problems& problems,
                   std::vector<std::string>& warnings);

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
