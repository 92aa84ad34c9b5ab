#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "document/document.hpp"
#include "document/keys.hpp"
#include "document/mask_reader.hpp"
#include "document/parameters.hpp"
#include "document/plan.hpp"
#include "document/tensor_source.hpp"
#include "document/token_reader.hpp"
#include "io/json_value.hpp"

namespace attn {

/// The parts of a document that were read for one kind, before they are put together.
struct DocumentParts : PlainValues {
  const JsonValue& root;
  Problems& problems;
  TensorSource& tensors;
  Tensor scores = {};
  LearnedWeights learned = {};
  ReadMask mask = {}, memory_mask = {}, source_mask = {};  ///< as the document gives them
  Mask encoder_mask = {};                                  ///< `source_mask`, and what tokens hide
  std::optional<TokenStates> first = {},
                             second = {};  ///< hidden states of the query's and of the key's tokens
  /// Whether the memory, and the labels of the keys, are for other kinds of the document's list,
  /// which need them: cross-attention and decoder layers. A multi_head among them attends to its
  /// own states.
  bool memory_is_for_others = false;

  const KindInfo& kind() const { return info(plan.kind); }
  bool is(Family family) const { return kind().family == family; }
  bool is_projecting() const { return is(Family::projected) || is(Family::transformer); }
  /// Whether there are decoder layers, and whether an encoder before them.
  bool decoder() const { return kind().kind == Kind::decoder_layer || encoder(); }
  bool encoder() const { return kind().kind == Kind::transformer; }

  /// The value of a key that the document has and that has a meaning for this kind.
  const JsonValue* find(std::string_view key) const;

  /// The document's member that is the second sequence.
  std::string second_name() const;

  /// The document's names of the request's query, key and value, for errors to use.
  DocumentNames names_of_tensors() const;
};

/// Puts the parts together: fills in the plan's computation, attentions and labels. Parts that do
/// not fit each other are problems.
void assemble_plan(DocumentParts& parts);

/// The plan of one of the document's `kinds`. Problems go to `problems`; with any, the plan may
/// lack its computation.
Plan read_kind(const Document& document, Kind kind, std::span<const Kind> kinds, Problems& problems,
               TensorSource& tensors);

}  // namespace attn
