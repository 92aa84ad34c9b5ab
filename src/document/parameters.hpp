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
  Projections projections;               ///< self, cross, multi_head
  std::vector<TransformerLayer> layers;  ///< encoder_layer, decoder_layer
  DocumentNames names;                   ///< what the document calls the parameters
  std::vector<std::string> warnings;
};

/// Reads the learned weights of the request's kind: inline, from a file, or made as PyTorch makes
/// new modules ({"init":"torch", …}). Those of `general` and `additive` go into the request itself.
/// `value` may be null. The request's query and key tell the widths; `memory` is a decoder's;
/// `layers` and `feed_forward` are the document's options.
LearnedWeights read_parameters(const JsonValue* value, const std::string& pointer,
                               AttentionRequest& request, const Tensor& memory, std::size_t layers,
                               std::optional<std::size_t> feed_forward, TensorSource& tensors);

}  // namespace attn
