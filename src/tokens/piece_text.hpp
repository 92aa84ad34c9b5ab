#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/normalizers.hpp"
#include "tokens/stage.hpp"

namespace attn {

/// How tokens are written for readers: marks of spaces become spaces, the letters of bytes
/// characters. WordPiece's ## stays, as it is what tells pieces of words.
struct PieceText {
  bool letters_of_bytes = false;  ///< GPT-2's
  bool byte_tokens = false;       ///< <0xE2> and the like
  std::vector<Replace> replacements;
  std::string end_suffix;  ///< becomes a space
  bool drops_first_space = false;

  /// `begins_text`: the first token may begin with a space that no text had.
  /// Where a character is spread over several tokens it stands whole over each of them; bytes that
  /// make no character are written <0xE2>.
  std::vector<std::string> pieces(std::span<const std::string_view> tokens, bool begins_text) const;

 private:
  std::string bytes_of(std::string_view token) const;
};

/// From the decoder of a tokenizer.json. Throws Error(input) naming a type or key that is not
/// supported.
PieceText read_decoder(const Stage& stage);

}  // namespace attn
