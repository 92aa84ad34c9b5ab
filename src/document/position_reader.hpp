#pragma once

#include <string>

#include "attn/attention.hpp"

#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// What a document says of positions and of the norms of heads: the values of "rotary",
/// "mask.alibi", "relative_bias", "query_norm" and "key_norm". Numbers are read as `dtype`; whether
/// they fit the attention is checked later. Each throws Error(input) below `pointer`.
Rotary read_rotary(const JsonValue& value, const std::string& pointer, DType dtype,
                   TensorSource& tensors);
Alibi read_alibi(const JsonValue& value, const std::string& pointer);
RelativeBias read_relative_bias(const JsonValue& value, const std::string& pointer, DType dtype,
                                TensorSource& tensors);
Norm read_head_norm(const JsonValue& value, const std::string& pointer, DType dtype,
                    TensorSource& tensors);

/// The norm that a document names "layer" or "rms".
NormKind read_norm_kind(const JsonValue& value, const std::string& pointer);

}  // namespace attn
