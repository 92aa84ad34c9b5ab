#pragma once

#include <optional>

#include "tokens/tokenizer.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {

/// The tokenizer of a folder with a SentencePiece model: how its pieces are numbered and what is
/// put around a text tells the tokenizer_class of tokenizer_config.json, or the model's type.
/// Nothing if there is no such model, or if the class is that of other files which are there.
std::optional<TokenizerParts> parts_from_sentence_piece(const TokenizerFiles& files);

}  // namespace attn
