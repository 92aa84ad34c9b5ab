#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "result/provenance.hpp"

namespace attn {

/// File next to a result, made of all its maps while they are computed.
struct MapsFile {
  std::string name;
  /// Takes the map of an attention, whose numbers may be freed afterwards.
  std::function<void(const AttentionMap& map)> take;
  std::function<Picture()> finish;
};

/// Makes the file for a plan, which outlives it and is about to be computed with its weights, and
/// for the folder of its result.
using MakeMapsFile = std::function<MapsFile(const Plan& plan, const std::filesystem::path& folder)>;

/// run() of a document that is read already; `options.input` is not looked at. `provenance`, which
/// has watched the document being read, goes into the results; null = none. `make`, which may be
/// empty, makes a file of the maps of each kind. Throws Error as run() does.
RunOutcome run_document(const RunOptions& options, Document document,
                        const Provenance* provenance = nullptr, const MakeMapsFile& make = {});

/// run() with such a file next to each result.
RunOutcome run_with_maps_file(const RunOptions& options, const MakeMapsFile& make);

}  // namespace attn
