#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "document/plan.hpp"

namespace attn {

/// Why keys are hidden from queries in each sample, a sentence for each part of the mask that hides
/// any: "causal: keys after the query".
std::vector<std::vector<std::string>> hidden_reasons(const PlannedAttention& attention);

}  // namespace attn
