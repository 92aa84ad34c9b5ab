#include "tokens/word_piece.hpp"

#include <algorithm>
#include <optional>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

ModelToken whole(std::string_view word, const TokenTable& tokens, const std::string& unknown) {
  if (const auto id = tokens.find(unknown)) return {*id, 0, word.size()};
  throw input_error(
      translated(
          "there is no token for the word {1}, and the unknown token {2} is not in the vocabulary",
          in_quotes(word), in_quotes(unknown)),
      "", translated("leave the word out, or take the tokenizer as it was published"));
}

}  // namespace

void WordPieceModel::cut(std::string_view word, std::vector<ModelToken>& result) const {
  const auto characters =
      std::count_if(word.begin(), word.end(), [](char byte) { return !continues_character(byte); });
  if (static_cast<std::size_t>(characters) > most_characters) {
    result.push_back(whole(word, *tokens, unknown));
    return;
  }
  const std::size_t found_before = result.size();
  std::string piece;
  for (std::size_t begin = 0; begin < word.size();) {
    piece = begin > 0 ? prefix : "";
    const std::size_t marks = piece.size();
    const std::size_t room = tokens->longest() > marks ? tokens->longest() - marks : 0;
    std::size_t end = begin + std::min(word.size() - begin, room);
    while (end < word.size() && continues_character(word[end])) --end;
    piece += word.substr(begin, end - begin);
    std::optional<TokenId> id;
    while (end > begin && !(id = tokens->find(piece))) {
      do {
        --end;
      } while (continues_character(word[end]));
      piece.resize(marks + end - begin);
    }
    if (!id) {
      result.resize(found_before);
      result.push_back(whole(word, *tokens, unknown));
      return;
    }
    result.push_back({*id, begin, end});
    begin = end;
  }
}

void WordLevelModel::cut(std::string_view word, std::vector<ModelToken>& result) const {
  if (const auto id = tokens->find(word)) {
    result.push_back({*id, 0, word.size()});
  } else {
    result.push_back(whole(word, *tokens, unknown));
  }
}

}  // namespace attn
