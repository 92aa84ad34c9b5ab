#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "document/names.hpp"
#include "document/parameters.hpp"
#include "document/plan.hpp"
#include "document/problems.hpp"
#include "document/tensor_source.hpp"
#include "document/token_reader.hpp"
#include "io/json_value.hpp"

namespace attn {

/// What was read of a document for one kind, before it is held together.
struct DocumentParts {
  const JsonValue& root;
  Problems& problems;
  TensorSource& tensors;
  Plan plan = {};
  AttentionOptions options = {};
  Sequences states = {};  ///< for given scores their value alone
  Tensor scores = {};
  LearnedWeights learned = {};
  TransformerRequest transformer = {};  ///< what layers have besides
  std::optional<TokenStates> first = {}, second = {};
  std::optional<std::size_t> feed_forward = {}, layers = {};
  std::optional<double> dropout = {};
  NormKind norm_kind = NormKind::layer;  ///< of layers

  const KindInfo& kind() const { return info(plan.kind); }
  bool is(Family family) const { return kind().family == family; }
  bool is_projecting() const { return is(Family::projected) || is(Family::transformer); }
  bool decoder() const { return kind().kind == Kind::decoder_layer; }

  /// The value of a key that is there and has a meaning for this kind.
  const JsonValue* find(std::string_view key) const;

  /// Which member of the document the second sequence is.
  std::string second_name() const;

  /// What the document calls the request's query, key and value, for errors to speak its language.
  DocumentNames names_of_tensors() const;
};

}  // namespace attn
