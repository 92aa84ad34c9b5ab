#pragma once

#include "attn/run.hpp"

#include "document/document.hpp"

namespace attn {

/// How the document's text is best read.
JsonOptions json_options(const DocumentOptions& options);

/// The document with what the command line says put into it, so that one reader checks both.
Document open_document(const DocumentOptions& options);

/// Puts what the command line says into a document that is open already.
void put_options(const DocumentOptions& options, Document& document);

}  // namespace attn
