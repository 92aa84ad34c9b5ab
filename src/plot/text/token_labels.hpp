#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Spellings of the pieces of words that tokenizers make.
enum class TokenSpelling {
  plain,          ///< as they are
  wordpiece,      ///< "##ing" continues a word
  sentencepiece,  ///< "▁the" begins one
  byte_level,     ///< "Ġthe" begins one; each letter stands for one byte
  spaced,         ///< " the" begins one, as readers write tokens
};

/// The common spelling of all lists of labels of a figure: one list alone may hold no sign of it.
TokenSpelling token_spelling(const std::vector<const std::vector<std::string>*>& lists);

/// Labels as people read them. The space that begins a word is left out, and a piece that goes
/// on with the word before it is led by "·": "play", "·ing". With `show_spaces`, spaces are shown
/// as "␣" instead, and WordPiece's tokens, which have none, stay as they are.
std::vector<std::string> readable_tokens(const std::vector<std::string>& labels,
                                         TokenSpelling spelling, bool show_spaces);

/// The text that a token stands for, with the spaces that begin words.
std::string token_text(const std::string& label, TokenSpelling spelling);

/// Whether a token is special, as "[CLS]" and "<s>", and no text.
bool is_special_token(std::string_view label);

/// A word of several tokens, those from `first` up to `end`.
struct Word {
  std::string text;
  std::size_t first = 0, end = 0;
};

/// Joins pieces of words as their tokenizer marks them; letters that byte-level tokens cut apart
/// become whole again. Special tokens such as [CLS] and <s> stand alone, punctuation does at either
/// end of a word, and plain tokens are words.
std::vector<Word> words_of(const std::vector<std::string>& labels, TokenSpelling spelling);

}  // namespace attn
