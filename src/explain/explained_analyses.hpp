#pragma once

#include <string>
#include <vector>

#include "attn/heads.hpp"

#include "document/plan.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// What analyses of a whole model say of one position of a sample, in words: from where its state
/// comes by rollout and by norms, and what each layer would say there. `labels` are the sample's
/// tokens. Throws Error(usage) for other analyses and for a model with an encoder and a decoder,
/// Error(input) for a lens without a head.
void explain_analyses(const ModelRequest& request, const std::vector<std::string>& labels,
                      QueryChoice choice, const std::vector<HeadAnalysis>& analyses,
                      Explanation& explanation);

}  // namespace attn
