#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/layers.hpp"

#include "document/names.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// The learned weights of a request.
struct LearnedWeights {
  Score score;                           ///< the kind's, with its parameters alone
  Projections projections;               ///< self, cross, multi_head
  std::vector<TransformerLayer> layers;  ///< encoder_layer, decoder_layer
  DocumentNames names;                   ///< what the document calls the parameters
  /// Ours and the document's names of those that were given.
  std::vector<std::pair<std::string, std::string>> origins;
  std::vector<std::string> warnings;
};

/// Reads the learned weights of the kind: inline, from a file, or made as PyTorch makes new modules
/// ({"init":"torch", …}). `value` may be null. `states` tells the widths and heads; `memory` is a
/// decoder's; `layers`, `feed_forward`, `norm_kind` and whether the activation is `gated` are the
/// document's options.
LearnedWeights read_parameters(const JsonValue* value, const std::string& pointer, Kind kind,
                               const Sequences& states, DType dtype, const Tensor& memory,
                               std::size_t layers, std::optional<std::size_t> feed_forward,
                               bool gated, NormKind norm_kind, TensorSource& tensors);

}  // namespace attn
