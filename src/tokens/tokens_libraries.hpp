#pragma once

#include <string>

namespace attn {

/// The libraries of this layer with their versions: "utf8proc 2.8.0, Oniguruma 6.9.8,
/// SentencePiece", which does not tell its version.
std::string tokens_libraries();

}  // namespace attn
