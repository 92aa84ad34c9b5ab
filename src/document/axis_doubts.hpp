#pragma once

#include <string>
#include <vector>

#include "attn/error.hpp"

#include "document/reader.hpp"

namespace attn {

/// Doubts about the axes of the tensors, whether the document names them or not.
std::vector<std::string> layout_doubts(const DocumentParts& parts);

/// The error with a help that names axes by which the tensors would fit: sizes that do not may be
/// right, and their order wrong.
Error with_layout(const Error& error, const DocumentParts& parts);

}  // namespace attn
