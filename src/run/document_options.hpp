#pragma once

#include "attn/run.hpp"

#include "run/document.hpp"

namespace attn {

/// The document with what the command line says put into it, so that one reader checks both.
Document open_document(const DocumentOptions& options);

}  // namespace attn
