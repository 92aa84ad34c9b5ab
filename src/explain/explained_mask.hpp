#pragma once

#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The step that adds the bias and names what hides each key; none without a mask.
void explain_mask(const ExplainedQuery& query, Explanation& explanation);

}  // namespace attn
