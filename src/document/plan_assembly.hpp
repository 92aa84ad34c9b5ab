#pragma once

#include "document/document_parts.hpp"

namespace attn {

/// Holds what was read together: fills in the plan's computation, attentions and labels. All that
/// does not fit goes to the problems.
void assemble_plan(DocumentParts& parts);

}  // namespace attn
