#pragma once

#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The steps from the masked scores to the output: softmax, dropout, the weighted sum of the
/// values.
void explain_weights(const ExplainedQuery& query, Explanation& explanation);

}  // namespace attn
