#pragma once

#include <string>

#include "document/plan.hpp"
#include "io/json_value.hpp"

namespace attn {

// Choices of a document among a model's results, and its changes of the model. Each function
// reads one key into the request, whose folder is open, and throws Error(input) at the key.

/// Reads "layers". Throws as well for a model, or a choice of its layers, without any map.
void read_layers(const JsonValue& root, ModelRequest& request);

/// The layers among the chosen ones that have no map, "0, 2"; empty if there are none.
std::string layers_without_map(const ModelRequest& request);

/// Reads "heads_off".
void read_heads_off(const JsonValue& root, ModelRequest& request);

/// Reads "ablate".
void read_ablation(const JsonValue& root, ModelRequest& request);

/// Reads "patch", when the texts of the request are known. `special_tokens`: whether the tokenizer
/// puts them around a text.
void read_patch(const JsonValue& root, bool special_tokens, ModelRequest& request);

/// Reads "logits". Throws as well if they are wanted and the file has no head that gives them.
void read_logits(const JsonValue& root, ModelRequest& request);

}  // namespace attn
