#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include "attn/document.hpp"
#include "attn/error.hpp"

#include "batch/items.hpp"
#include "document/document.hpp"

namespace attn {

/// The document of a batch, with what the options set put into it; a text for a model becomes one.
/// `place` is what errors call it. Throws Error(input).
Document open_batch_document(const ListedDocument& listed, const DocumentText& text,
                             const DocumentOptions& options, const std::string& place);

/// Any exception as the error that `attn-cli run` would end with.
Error error_of(const std::exception& exception);

/// Puts the batch's wording, if it has one, into the item's warnings and error.
void reword(BatchItem& item, const BatchOptions& options);

/// Where the system limits the program's memory, so many jobs that each has some for itself;
/// 0 = as many as the machine has processors.
std::size_t jobs_in_memory(std::size_t jobs);

}  // namespace attn
