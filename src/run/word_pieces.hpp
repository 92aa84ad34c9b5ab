#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A word of several tokens, those from `first` up to `end`.
struct Word {
  std::string text;
  std::size_t first = 0, end = 0;
};

/// Joins pieces of words as their tokenizer marks them: WordPiece continues a word with "##",
/// byte-level BPE begins one with "Ġ", SentencePiece with "▁". Special tokens such as [CLS] and <s>
/// stand alone. Tokens without any marks are words.
std::vector<Word> words_of(std::span<const std::string> tokens);

}  // namespace attn
