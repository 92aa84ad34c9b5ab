#pragma once

#include "document/plan.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// The last step: multiplications and bytes of the whole computation with numbers of that type,
/// each beside its formula with the sizes put in, and how they grow.
void explain_cost(const Plan& plan, DType dtype, Explanation& explanation);

}  // namespace attn
