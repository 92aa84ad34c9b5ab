#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "attn/error.hpp"

#include "document/document.hpp"

namespace attn {

/// All that is wrong with the document that `open` gives; what it throws is its only problem.
Validation validation_of(std::string name, const FileAccess& access,
                         const std::function<Document(const FileAccess&)>& open);

}  // namespace attn
