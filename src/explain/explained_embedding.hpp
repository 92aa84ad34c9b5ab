#pragma once

#include "document/plan.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// How the token of the query became its hidden state, and those of the keys theirs. Nothing where
/// the plan has no tokens.
void explain_embedding(const Plan& plan, QueryChoice choice, Explanation& explanation);

}  // namespace attn
