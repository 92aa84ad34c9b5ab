#pragma once

#include <cstddef>

#include "attn/tensor.hpp"

#include "attention/finish.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

ActivationCurve curve_of(ModelActivation activation);

/// a + b. Throws Error(input) if their shapes differ, which the weights are at fault for.
Tensor sum(const CheckpointWeights& weights, const Tensor& a, const Tensor& b, std::size_t threads);
void check_alike(const CheckpointWeights& weights, const Shape& a, const Shape& b);

}  // namespace attn
