#pragma once

#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The steps from a head's query and keys to those that are compared: their norms, and the angles
/// that each pair of columns is turned by. None where nothing is done to them.
void explain_preparation(const ExplainedQuery& query, Explanation& explanation);

/// The step that adds to the scores by the distance of a key: ALiBi, and the bias of its bucket.
void explain_position_bias(const ExplainedQuery& query, Explanation& explanation);

}  // namespace attn
