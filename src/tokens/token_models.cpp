#include "tokens/token_models.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "support/work_budget.hpp"
#include "tokens/characters.hpp"

namespace attn {
namespace {

// The unknown token for a whole word.
ModelToken whole(std::string_view word, const TokenTable& tokens, const std::string& unknown) {
  if (const auto id = tokens.find(unknown)) return {*id, 0, word.size()};
  throw input_error(
      translated(
          "there is no token for the word {1}, and the unknown token {2} is not in the vocabulary",
          in_quotes(word), in_quotes(unknown)),
      "", translated("leave the word out, or use the tokenizer as published"));
}

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

// The best way to a place: its score and its last token.
struct Best {
  double score = 0;
  std::size_t begin = nowhere;
  TokenId id = 0;
};

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
    check_time();
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

UnigramModel::UnigramModel(std::shared_ptr<const TokenTable> all, std::vector<double> all_scores,
                           std::optional<TokenId> unknown_token, bool fallback)
    : tokens(std::move(all)),
      scores(std::move(all_scores)),
      unknown(unknown_token),
      byte_fallback(fallback),
      bytes(byte_tokens(*tokens)) {
  constexpr double penalty = 10;
  unknown_score = *std::min_element(scores.begin(), scores.end()) - penalty;
  std::vector<std::string_view> texts;
  texts.reserve(tokens->size());
  for (std::size_t id = 0; id < tokens->size(); ++id) {
    texts.push_back(tokens->token(static_cast<TokenId>(id)));
  }
  index = PrefixIndex(std::move(texts));
}

void UnigramModel::cut(std::string_view word, std::vector<ModelToken>& result) const {
  // 1. The best way to each place.
  std::vector<Best> best(word.size() + 1);
  std::size_t places = 0;
  for_each_character(word, [&](char32_t, std::size_t begin, std::size_t end) {
    constexpr std::size_t often = 256;  // each place tries all tokens that begin there
    if (places++ % often == 0) check_time();
    const double so_far = best[begin].score;
    const auto offer = [&](std::size_t to, double score, TokenId id) {
      if (best[to].begin == nowhere || so_far + score > best[to].score) {
        best[to] = {so_far + score, begin, id};
      }
    };
    bool has_own = false;
    index.for_each_prefix(word.substr(begin), [&](std::size_t id) {
      const auto token = static_cast<TokenId>(id);
      const std::size_t length = tokens->token(token).size();
      offer(begin + length, scores[id], token);
      has_own = has_own || begin + length == end;
    });
    if (has_own) return;
    if (!unknown) {
      throw input_error(translated("there is no token for the character {1}, and no unknown token",
                                   in_quotes(word.substr(begin, end - begin))),
                        "",
                        translated("leave the character out, or use the tokenizer as published"));
    }
    offer(end, unknown_score, *unknown);
  });

  // 2. The best way to the end, followed backwards, neighbouring unknown characters joined.
  std::vector<ModelToken> way;
  for (std::size_t end = word.size(); end > 0; end = best[end].begin) {
    const ModelToken token{best[end].id, best[end].begin, end};
    if (!way.empty() && token.id == unknown && way.back().id == unknown) {
      way.back().begin = token.begin;
    } else {
      way.push_back(token);
    }
  }
  std::reverse(way.begin(), way.end());

  // 3. A joined text that is a token becomes it; bytes of unknown ones may have tokens of their
  // own.
  for (const ModelToken& token : way) {
    const std::string_view text = word.substr(token.begin, token.end - token.begin);
    if (const auto id = tokens->find(text)) {
      result.push_back({*id, token.begin, token.end});
      continue;
    }
    const auto token_of = [&](char byte) { return bytes[static_cast<unsigned char>(byte)]; };
    if (byte_fallback && std::all_of(text.begin(), text.end(),
                                     [&](char byte) { return token_of(byte).has_value(); })) {
      for (std::size_t i = 0; i < text.size(); ++i) {
        result.push_back({*token_of(text[i]), token.begin + i, token.begin + i + 1});
      }
      continue;
    }
    result.push_back(token);
  }
}

}  // namespace attn
