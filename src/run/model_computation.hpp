#pragma once

#include "run/computation.hpp"

namespace attn {

/// Reads the texts of a plan whose computation is `request` with its model.
Computed compute_model(const Plan& plan, const ModelRequest& request);

}  // namespace attn
