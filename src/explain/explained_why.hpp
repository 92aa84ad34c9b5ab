#pragma once

#include "attn/explain.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"

namespace attn {

/// Explains by splits, in place of a walk through the computation, why a head of a model's plan
/// looks where it looks, and why the model expects the next token. Throws Error(usage) for a plan
/// without a model, and as split() does.
ExplainOutcome explain_why(const ExplainOptions& options, const Document& document,
                           const Plan& plan);

}  // namespace attn
