#pragma once

#include <filesystem>
#include <vector>

#include "io/gguf.hpp"

namespace attn {

/// The later parts of a GGUF file in several, by the name of the first ("-00001-of-00003.gguf");
/// none if `read` is not a first part. Throws Error(input) if the name does not say what part it
/// is.
std::vector<std::filesystem::path> later_gguf_parts(const std::filesystem::path& first,
                                                    const Gguf& read);

}  // namespace attn
