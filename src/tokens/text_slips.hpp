#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/tokenizer.hpp"

namespace attn {

/// Warnings of a text that holds what a tokenizer adds by itself or takes for plain text: special
/// tokens that stand twice, those of other tokenizers, ids in the place of a text, the letters of a
/// new line, and a space at the end.
/// `cut`: the tokens of the text alone, with those that the template puts around it. `typed`:
/// whether the model tells the texts of a pair apart by types.
std::vector<std::string> text_slips(const Tokenizer& tokenizer, std::string_view text,
                                    std::span<const TextToken> cut, bool typed);

/// Warning of a continuation whose first word lacks the space that its token begins with: `before`
/// is the text that it follows, and with a space there are fewer tokens.
std::optional<std::string> continuation_slip(const Tokenizer& tokenizer, std::string_view before,
                                             const std::string& text);

}  // namespace attn
