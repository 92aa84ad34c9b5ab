#pragma once

#include "attn/layers.hpp"

#include "document/document.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The last step: multiplications and bytes of the whole computation, each beside its formula with
/// the sizes put in, and how they grow.
void explain_cost(const DocumentRequest& request, Explanation& explanation);

}  // namespace attn
