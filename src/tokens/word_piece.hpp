#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/model_token.hpp"

namespace attn {

/// The longest pieces that the vocabulary has, from left to right, all but the first with `prefix`
/// before them (Wu et al. 2016; Devlin et al. 2018). A word without such pieces, or of more than
/// `most_characters`, is unknown.
struct WordPieceModel {
  std::shared_ptr<const TokenTable> tokens;
  std::string unknown = "[UNK]", prefix = "##";
  std::size_t most_characters = 100;

  /// Throws Error(input) where the unknown token is needed but not in the vocabulary.
  void cut(std::string_view word, std::vector<ModelToken>& result) const;
};

/// Whole words; all others are unknown.
struct WordLevelModel {
  std::shared_ptr<const TokenTable> tokens;
  std::string unknown = "<unk>";

  void cut(std::string_view word, std::vector<ModelToken>& result) const;
};

}  // namespace attn
