#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "tokens/byte_pair.hpp"
#include "tokens/model_token.hpp"
#include "tokens/prefix_index.hpp"

namespace attn {

/// The likeliest of all ways to put a word together (Kudo 2018): the sum of the tokens' scores is
/// greatest, found by Viterbi's algorithm. A character that is no token of its own may be unknown,
/// at the lowest score less 10; neighbouring unknown characters are one token, or the tokens of
/// their bytes.
struct UnigramModel {
  std::shared_ptr<const TokenTable> tokens;
  std::vector<double> scores;  // of each token
  PrefixIndex index;           // of all tokens, by id
  std::optional<TokenId> unknown;
  bool byte_fallback = false;
  std::vector<std::optional<TokenId>> bytes;  // of the tokens <0x00>…<0xFF>
  double unknown_score = 0;

  UnigramModel(std::shared_ptr<const TokenTable> all, std::vector<double> all_scores,
               std::optional<TokenId> unknown_token, bool fallback);

  /// Throws Error(input) where a character is unknown and there is no unknown token.
  void cut(std::string_view word, std::vector<ModelToken>& result) const;
};

}  // namespace attn
