#pragma once

#include <optional>
#include <string>

#include "attn/attention.hpp"

#include "document/tensor_source.hpp"
#include "io/json_value.hpp"
#include "tensor/torch_random.hpp"

namespace attn {

using Tables = std::vector<std::pair<std::string, Tensor>>;
/// Tables of expressions by name. Throws Error(input) at "/tables/NAME" for one that expressions
/// cannot read.
Tables read_tables(const JsonValue& value, const std::string& place, TensorSource& tensors);

/// The values of keys that set one option of an attention and are objects, or names from a table.
/// Tensors are read as `dtype`; whether they fit the attention is checked later. Each function
/// throws Error(input) at or below the JSON pointer `place`.

/// "rotary"
Rotary read_rotary(const JsonValue& value, const std::string& place, DType dtype,
                   TensorSource& tensors);
/// "mask.alibi": true, slopes [H] or [B,H] as a list or another tensor, or an object with both.
Alibi read_alibi(const JsonValue& value, const std::string& place, TensorSource& tensors);
/// "relative_bias"
RelativeBias read_relative_bias(const JsonValue& value, const std::string& place, DType dtype,
                                TensorSource& tensors);
/// "query_norm" and "key_norm"
Norm read_head_norm(const JsonValue& value, const std::string& place, DType dtype,
                    TensorSource& tensors);
/// The numbers of the rule of linear attention, for G key heads of width d_k and values of d_v.
struct LinearRule {
  Tensor decay = {};  ///< [B,L,G] or [B,L,G·d_k], g ≤ 0: what remains of a state is e^g of it
  Tensor beta = {};   ///< [B,L,G] or [B,L,1]: the strength of the delta rule, if it is that
  Tensor past_state = {};  ///< [B,G,d_k,d_v] before the first token; absent = zeros
};
/// "linear_attention"
LinearRule read_linear_rule(const JsonValue& value, const std::string& place, DType dtype,
                            TensorSource& tensors);
/// "norm_kind": "layer" or "rms"
NormKind read_norm_kind(const JsonValue& value, const std::string& place);
/// "mask.window"
Window read_window(const JsonValue& value, const std::string& place);
/// "pool": 1024, or {"size": 1024, "reduction": "max"}
Pooling read_pooling(const JsonValue& value, const std::string& place);
/// The text of an expression, which is not empty.
std::string expect_expression(const JsonValue& value, const std::string& place);
/// The gradient of the output in {"output": tensor}.
Tensor read_output_gradient(const JsonValue& value, const std::string& place, DType dtype,
                            TensorSource& tensors);
/// The p of {"p": …, "training": true}; absent without training, when dropout does nothing.
std::optional<double> read_dropout(const JsonValue& value, const std::string& place);

/// torch.nn.functional.dropout in training. Each attention draws from the generator in its present
/// state, all of them the same numbers; or with `in_turn` each draws after the one before.
Dropout torch_dropout(double p, const TorchRandom& random, bool in_turn);

/// JSON Schemas of these values, for keys and for other schemas.
std::string norm_kind_schema();
std::string window_schema();
std::string pooling_schema();
std::string output_gradient_schema();

}  // namespace attn
