#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/attention.hpp"
#include "attn/io.hpp"
#include "attn/layers.hpp"
#include "attn/model.hpp"

#include "attention/attention_name.hpp"
#include "attention/geometry.hpp"
#include "document/labels.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"

namespace attn {

/// A model, what it reads and what is wanted of it.
struct ModelRequest : ModelOptions {
  std::shared_ptr<const ModelFolder> folder;
  ModelTexts texts;
};

/// What there is to compute. Whoever visits it has a case for each alternative and no other, so
/// that a new one does not compile before all of them know it.
using Computation =
    std::variant<AttentionRequest, ProjectedAttentionRequest, TransformerRequest, ModelRequest>;

/// One attention of a plan, as far as it is known before anything is computed.
struct PlannedAttention {
  AttentionName name;
  Mask mask;
  Geometry geometry;
  Labels labels;

  /// Whether maps of rank 3 are [H,Lq,Lk], not [B,Lq,Lk].
  bool heads_only() const { return geometry.head_axis && !geometry.batch_axis; }
};

/// A document checked and ready to be computed as one kind of attention. All that comes after reads
/// it, and none of it the document.
struct Plan {
  Kind kind = Kind::scaled_dot_product;
  std::string title, description;
  bool weights = true;  ///< whether the document wants them in its result
  std::vector<std::pair<std::string, Shape>> shapes;  ///< of the inputs
  /// As RunReport has them.
  std::vector<std::pair<std::string, std::string>> file_types;
  std::vector<NamedTensor> tokens;  ///< token_ids, embedded, recovered_ids
  bool positions_added = false;     ///< whether `embedded` has sinusoidal positions in it
  std::vector<std::vector<std::string>> recovered_tokens;
  std::optional<ModelReport> model;  ///< of Kind::model, without predictions
  std::vector<std::string> warnings;
  double read = 0;  ///< elements that were read, made or drawn for it
  double made = 0;  ///< those of them that the document told how to make or draw
  Computation computation;
  Tensor output_gradient;  ///< wanted are those of all that the output was computed from
  /// What the document calls these, where it is not what the request does. Parameters that share a
  /// name are parts of one tensor, in their order; tensors that share one are uses of one.
  std::vector<std::pair<std::string, std::string>> gradient_names;
  std::vector<PlannedAttention> attentions;  ///< in the order of computation

  AttentionOptions& options() noexcept;
  const AttentionOptions& options() const noexcept;
  std::size_t scores_count() const;  ///< of all attentions, samples and heads
};

/// The attentions of a computation, without labels. Throws Error(input) if its tensors do not fit
/// together.
std::vector<PlannedAttention> attentions_of(const Computation& computation);

}  // namespace attn
