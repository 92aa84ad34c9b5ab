#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/tokenizer.hpp"

namespace attn {

/// Warnings of a text that holds what a tokenizer adds by itself or takes for plain text: special
/// tokens that stand twice, those of other tokenizers, and ids in the place of a text.
/// `cut`: the tokens of the text alone, with those that the template puts around it. `typed`:
/// whether the model tells the texts of a pair apart by types.
std::vector<std::string> text_slips(const Tokenizer& tokenizer, std::string_view text,
                                    std::span<const TextToken> cut, bool typed);

}  // namespace attn
