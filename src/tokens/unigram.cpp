#include "tokens/unigram.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "tokens/aligned_text.hpp"

namespace attn {
namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

// The best way to a place: its score, and the last token on it.
struct Best {
  double score = 0;
  std::size_t begin = none;
  TokenId id = 0;
};

}  // namespace

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
  // 1. For each place the best way that ends there.
  std::vector<Best> best(word.size() + 1);
  for_each_character(word, [&](char32_t, std::size_t begin, std::size_t end) {
    const double so_far = best[begin].score;
    const auto offer = [&](std::size_t to, double score, TokenId id) {
      if (best[to].begin == none || so_far + score > best[to].score) {
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
      throw input_error(
          translated("there is no token for the character {1}, and no unknown token",
                     in_quotes(word.substr(begin, end - begin))),
          "", translated("leave the character out, or take the tokenizer as it was published"));
    }
    offer(end, unknown_score, *unknown);
  });

  // 2. That way backwards, neighbouring unknown characters joined.
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

  // 3. What is written as a token is that token; else unknown bytes may have their own.
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
