#pragma once

#include "document/document.hpp"
#include "document/plan.hpp"
#include "document/problems.hpp"

namespace attn {

/// Reads a document with a model: its folder, what it reads, what is wanted of it. All problems go
/// to `problems`; the plan is to be computed only if there are none.
Plan read_model_plan(const Document& document, Problems& problems);

/// Tokens as readers write them; a token without a text is shown by its id.
std::vector<std::string> written_tokens(const ModelFolder& folder,
                                        const std::vector<std::int64_t>& ids);

}  // namespace attn
