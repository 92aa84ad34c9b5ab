#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "document/keys.hpp"
#include "document/mask_reader.hpp"
#include "document/option_reader.hpp"
#include "document/parameters.hpp"
#include "document/plan.hpp"
#include "document/tensor_source.hpp"
#include "document/token_reader.hpp"
#include "io/json_value.hpp"
#include "report/facts.hpp"

namespace attn {

/// The plan of the document for `kind`, one of its `kinds`. All problems go to `problems`; the plan
/// may be computed only if there are none. Nothing is made, drawn or embedded before all sizes are
/// checked.
Plan read_plan(const Document& document, Kind kind, std::span<const Kind> kinds,
               Problems& problems);

/// Finds all problems of the document except those of single random numbers, which are not drawn.
/// Plans without problems go to `visit`; what they draw or embed is only a shape.
void check_plans(const Document& document, std::span<const Kind> kinds, Problems& problems,
                 const std::function<void(const Plan&)>& visit = {});

/// The plans of all kinds of the document. Throws the first problem, at its place in the document
/// or at the field that set it. `choose` sets the wanted results of a plan; it is called before
/// anything is made or drawn, so that all sizes can be checked.
std::vector<Plan> read_plans(const Document& document,
                             const std::function<void(Plan&)>& choose = {});

/// All problems of the document that `open` returns. An error that `open` throws is the only
/// problem. `visit` as in check_plans().
Validation validation_of(std::string name, const FileAccess& access,
                         const std::function<Document(const FileAccess&)>& open,
                         const std::function<void(const Plan&)>& visit = {});

/// "input" and "problems" of a validation.
Fact::Members facts_of(const Validation& validation);

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
  /// Leading keys of the past that parameters and "add_zero_attn" add, and that no part of the mask
  /// counts.
  std::size_t added_keys = 0;

  const KindInfo& kind() const { return info(plan.kind); }
  bool is(Family family) const { return kind().family == family; }
  bool is_projecting() const { return is(Family::projected) || is(Family::transformer); }
  /// Whether there are decoder layers, and whether an encoder before them.
  bool decoder() const { return kind().kind == Kind::decoder_layer || encoder(); }
  bool encoder() const { return kind().kind == Kind::transformer; }

  /// The value of a key that the document has and that has a meaning for this kind.
  const JsonValue* find(std::string_view key) const;

  /// Whether the value of such a key is an object with that member.
  bool has(std::string_view key, std::string_view member) const;

  /// The document's member that is the second sequence.
  std::string second_name() const;

  /// The document's names of the request's query, key and value, for errors to use.
  DocumentNames names_of_tensors() const;
};

/// Makes the attention of the parts one that follows the rule: its weights, exact in double
/// precision, become the table of the expression of the weight, the state before it a past, and the
/// state after it the tensor "present_state". Throws Error(input) for tensors that do not fit at or
/// below `at`, and for keys of the document that have no meaning beside it.
void add_linear_attention(DocumentParts& parts, const LinearRule& rule, const std::string& at);

/// Doubts about the axes of the tensors, whether the document names them or not.
std::vector<std::string> layout_doubts(const DocumentParts& parts);

/// The error with a help that names axes by which the tensors would fit: sizes that do not may be
/// right, and their order wrong.
Error with_layout(const Error& error, const DocumentParts& parts);

/// Puts the parts together: fills in the plan's computation, attentions and labels. Parts that do
/// not fit each other are problems.
void assemble_plan(DocumentParts& parts);

/// The plan of one of the document's `kinds`. Problems go to `problems`; with any, the plan may
/// lack its computation.
Plan read_kind(const Document& document, Kind kind, std::span<const Kind> kinds, Problems& problems,
               TensorSource& tensors);

}  // namespace attn
