#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/spec.hpp"

#include "attention/geometry.hpp"
#include "document/document.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// A list of positions, as an array or a tensor of one axis.
std::vector<std::size_t> read_positions(const JsonValue& value, const std::string& pointer,
                                        TensorSource& tensors);

/// Places where packed sequences begin and the last one ends, one list for all samples or one per
/// sample, in the form that kernels take: [0,5,9] are sequences of five and of four. Empty = not
/// given.
using SequenceEnds = std::vector<std::vector<std::size_t>>;

/// Reads them, from arrays or a tensor of one or two axes. Throws Error(input) if they do not rise
/// from 0.
SequenceEnds read_sequence_ends(const JsonValue& value, const std::string& place,
                                TensorSource& tensors);

/// Ids of the keys by their sequences, int64 [Lk] or [B,Lk]: [0,5,9] gives five keys the id 0 and
/// four the id 1. Throws Error(input) if samples have other numbers of keys.
Tensor sequence_ids(const SequenceEnds& ends, const std::string& place);

/// The keys that queries see of their own sequence, bool in the rank of the weights, where queries
/// and keys are packed apart. Causality and window of the mask count from the beginning of each
/// sequence, or with Alignment::lower_right from its end. Throws Error(input) at `place` for
/// sequences that do not fit each other or the sizes.
Tensor seen_within_sequences(const SequenceEnds& of_queries, const SequenceEnds& of_keys,
                             const Mask& mask, const Geometry& geometry, const std::string& place);

/// A JSON pointer as texts show it: "mask.keep" of "/mask/keep".
std::string shown_place(std::string pointer);

/// A mask of a document, and what is not decided before the sizes are known.
struct ReadMask : Mask {
  std::string pointer = {};                     ///< JSON pointer of the object
  Tensor keep = {};                             ///< of "keep", numbers as given; see settle_mask()
  std::string keep_at = {};                     ///< its JSON pointer; empty = the document has none
  SequenceEnds query_ends = {}, key_ends = {};  ///< "cu_seqlens" of each side
  std::string ends_at = {};                     ///< their JSON pointer
  std::string documents_at = {};                ///< that of "cu_seqlens" which gave `documents`
  Tensor query_lens = {};                       ///< int64 [B]: valid lengths of the queries
  std::string query_lens_at = {};               ///< its JSON pointer
  bool aligned = false;                         ///< whether the document says the alignment

  /// "mask.keep" or "attention_mask"
  std::string keep_name() const { return shown_place(keep_at); }
  /// The key of the valid lengths beside this mask: "valid_lens", "memory_valid_lens"
  std::string lens_name() const;
  /// The member to write for a mask of the keys that are seen: "\"attention_mask\": …"
  std::string keep_instead() const;
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
/// For each part that hides keys a sentence about those that it lets the query see: "causal: keys
/// up to key 3".
std::vector<std::string> mask_sentences(const Mask& mask, const MaskedQuery& query);

/// Words for the keys that a part hides: in the legend of a picture, "outside window". `part` is
/// the name of one of hiding_parts().
std::string hidden_legend(std::string_view part, const Mask& mask);
/// A sentence about these keys: "window: keys more than 2 before the query".
std::string hidden_sentence(std::string_view part, const Mask& mask);

/// Whether settle_mask() has to know the sizes for this mask.
bool depends_on_sizes(const ReadMask& given);

/// Puts what a document gives into the parts of `mask` that mean the same. "keep": one row of keys
/// per sample into `padding`, other truths into `allow` or `block`, and numbers that are added to
/// the scores into `bias`, with a warning. Sequences of queries and keys apart, with causality and
/// window, and valid lengths of queries: into `allow` or `block`. Throws Error(input) at the
/// document's place for what is or fits none of these.
void settle_mask(const ReadMask& given, const Geometry& geometry, Mask& mask,
                 std::vector<std::string>& warnings);

/// Has a mask of `keys` keys let every query see `count` more before these. Throws Error(input) for
/// parts that count positions of all keys.
void see_added_keys(Mask& mask, std::size_t keys, std::size_t count);

/// The number of rows that the valid lengths of queries leave empty in an attention.
std::size_t rows_beyond(const ReadMask& given, const Geometry& geometry);

/// Signs that another mask was meant, each with what to write: a shape of which another reading
/// fits too, and numbers that are usual in another part. The mask fits the geometry.
std::vector<std::string> mask_warnings(const ReadMask& given, const Geometry& geometry);

/// Help for sequences that end at `end`, which is not the number of keys or queries: another end,
/// or the layout of packed tensors [L,H,D] that are read as samples.
std::string help_for_ends(std::size_t end, const Geometry& geometry, std::size_t length);

}  // namespace attn
