#pragma once

#include <string>
#include <string_view>

namespace attn {

/// What BERT does to text before it splits it into words, in this order: control, format,
/// private-use and replacement characters are dropped and all white space becomes U+0020; spaces
/// are put around Chinese characters; with `lowercase`, the text is lower-cased (Σ at the end of a
/// word becomes ς), canonically decomposed and rid of nonspacing marks (accents).
///
/// Where Hugging Face's implementations differ, this follows its JavaScript package
/// @huggingface/tokenizers: unassigned characters stay, and only Chinese characters of the Basic
/// Multilingual Plane get spaces.
std::u32string bert_normalized(std::u32string_view text, bool lowercase);

/// Whether BERT makes the character a word of its own: categories P*, and ASCII's symbols ($ + < =
/// > ^ ` | ~) too.
bool is_bert_punctuation(char32_t character);

}  // namespace attn
