#pragma once

#include <optional>
#include <string>

#include "attn/attention.hpp"

#include "io/json_value.hpp"
#include "tensor/torch_random.hpp"

namespace attn {

/// The p of {"p":…, "training":true}; none without training, when dropout does nothing.
std::optional<double> read_dropout(const JsonValue& value, const std::string& pointer);

/// torch.nn.functional.dropout in training: draws from the generator as it is now, each time the
/// same; or `in_turn`, each attention after the one before.
Dropout torch_dropout(double p, const TorchRandom& random, bool in_turn);

}  // namespace attn
