#pragma once

#include "attn/run.hpp"

#include "document/document.hpp"
#include "result/provenance.hpp"
#include "run/maps_file.hpp"

namespace attn {

/// run() of a document that was read already; `options.input` is not looked at. `provenance`, which
/// has watched the document being read, is told in the results if it is not null. `make`, if it is
/// not empty, is asked for a file of each kind's maps.
RunOutcome run_document(const RunOptions& options, Document document,
                        const Provenance* provenance = nullptr, const MakeMapsFile& make = {});

/// run() with such a file beside each result.
RunOutcome run_with_maps_file(const RunOptions& options, const MakeMapsFile& make);

}  // namespace attn
