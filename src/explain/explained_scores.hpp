#pragma once

#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The steps from the query and the keys to the scores before bias and mask: the products of its
/// kind term by term, scale, softcap.
void explain_scores(const ExplainedQuery& query, Explanation& explanation);

}  // namespace attn
