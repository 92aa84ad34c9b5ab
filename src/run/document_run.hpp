#pragma once

#include "attn/run.hpp"

#include "document/document.hpp"
#include "result/provenance.hpp"

namespace attn {

/// run() of a document that was read already; `options.input` is not looked at. `provenance`, which
/// has watched the document being read, is told in the results if it is not null.
RunOutcome run_document(const RunOptions& options, Document document,
                        const Provenance* provenance = nullptr);

}  // namespace attn
