#pragma once

#include "attn/attention.hpp"

#include "io/json_value.hpp"
#include "run/problems.hpp"
#include "run/tensor_source.hpp"

namespace attn {

/// Reads the learned weights of the request's kind: inline, from a file ({"file":…, "prefix":…,
/// "names":{ours: theirs}}), or made as PyTorch makes new Linear layers ({"init":"torch", …}).
/// `value` may be null.
void read_parameters(const JsonValue* value, AttentionRequest& request, TensorSource& tensors,
                     Problems& problems);

}  // namespace attn
