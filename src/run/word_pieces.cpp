#include "run/word_pieces.hpp"

#include <algorithm>
#include <string_view>

namespace attn {
namespace {

constexpr std::string_view kContinued = "##";      // WordPiece
constexpr std::string_view kSpace = "\u0120";      // Ġ: byte-level BPE's space
constexpr std::string_view kLineBreak = "\u010A";  // Ċ: byte-level BPE's line break
constexpr std::string_view kMetaSpace = "\u2581";  // ▁: SentencePiece's space

bool any_begins(std::span<const std::string> tokens, std::string_view mark) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const std::string& token) { return token.starts_with(mark); });
}

// Bytes that SentencePiece has no piece for, "<0x0A>", are parts of words.
bool is_special(std::string_view token) {
  if (token.size() < 3 || token.starts_with("<0x")) return false;
  return (token.front() == '[' && token.back() == ']') ||
         (token.front() == '<' && token.back() == '>');
}

}  // namespace

std::vector<Word> words_of(std::span<const std::string> tokens) {
  const bool continued = any_begins(tokens, kContinued);
  const std::string_view space = any_begins(tokens, kSpace)       ? kSpace
                                 : any_begins(tokens, kMetaSpace) ? kMetaSpace
                                                                  : std::string_view();
  std::vector<Word> words;
  bool alone = true;  // whether the word before takes no more pieces
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string_view piece = tokens[i];
    const bool special = is_special(piece);
    bool begins = true;
    if (special) {
    } else if (continued) {
      begins = !piece.starts_with(kContinued) || piece == kContinued;
      if (!begins) piece.remove_prefix(kContinued.size());
    } else if (!space.empty()) {
      begins = piece.starts_with(space) || piece.starts_with(kLineBreak);
      if (piece.starts_with(space)) piece.remove_prefix(space.size());
    }
    if (begins || special || alone) {
      words.push_back({std::string(piece), i, i + 1});
    } else {
      words.back().text += piece;
      words.back().end = i + 1;
    }
    alone = special;
  }
  return words;
}

}  // namespace attn
