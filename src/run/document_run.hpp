#pragma once

#include "attn/run.hpp"

#include "run/document.hpp"

namespace attn {

/// run() of a document that was read already; `options.input` is not looked at.
RunOutcome run_document(const RunOptions& options, Document document);

}  // namespace attn
