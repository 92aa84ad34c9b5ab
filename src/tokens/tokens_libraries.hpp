#pragma once

#include <string>

namespace attn {

/// The libraries of this layer with their versions: "utf8proc 2.8.0, PCRE2 10.42, SentencePiece",
/// which does not tell its version.
std::string tokens_libraries();

}  // namespace attn
