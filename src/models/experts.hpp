#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "models/pass.hpp"

namespace attn {

/// gpt-oss: the best experts of a token, weighed by a softmax over their scores alone; in each,
/// gate and up in turns, the gate at most 7, the other within ±7 (its released code).
Tensor chosen_experts(const Architecture& model, const CheckpointWeights& weights,
                      const StackWeights& names, const ModelOptions& options, const Tensor& x,
                      std::size_t n);

}  // namespace attn
