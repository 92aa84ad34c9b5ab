#pragma once

#include <string>
#include <vector>

namespace attn::plot {

/// How the pieces of words that a tokenizer makes are spelled.
enum class TokenSpelling {
  plain,          ///< as they are
  wordpiece,      ///< "##ing" continues a word
  sentencepiece,  ///< "▁the" begins one
  byte_level,     ///< "Ġthe" begins one; each letter stands for one byte
};

/// The spelling of all the labels of a figure together: one list alone may hold no sign of it.
TokenSpelling token_spelling(const std::vector<const std::vector<std::string>*>& lists);

/// The labels as people read them. The space that begins a word is left out, and a piece that goes
/// on with the word before it is led by "·": "play", "·ing". With `show_spaces`, spaces are shown
/// as "␣" instead, and WordPiece's tokens, which have none, stay as they are.
std::vector<std::string> readable_tokens(const std::vector<std::string>& labels,
                                         TokenSpelling spelling, bool show_spaces);

}  // namespace attn::plot
