#pragma once

#include <string>

#include "attn/run.hpp"

#include "cli/flags.hpp"

namespace attn::cli {

/// What is made of a document, whether of one or of many. Where `page` is given, --plots takes view
/// too and sets it.
void add_results(Flags& flags, RunOptions& options, bool* page = nullptr);

/// Whether results go to standard output ("--out -"). Throws Error(usage) for what cannot go there
/// too; `json` is whether a report is to.
bool answers(const RunOptions& options, bool json, const std::string& command);

}  // namespace attn::cli
