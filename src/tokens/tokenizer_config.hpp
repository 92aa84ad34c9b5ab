#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_value.hpp"
#include "tokens/added_tokens.hpp"

namespace attn {

/// tokenizer_config.json: what the files of vocabularies do not tell.
class TokenizerConfig {
 public:
  /// Throws Error(input) if `text` is given and is no JSON object.
  explicit TokenizerConfig(std::optional<std::string_view> text);

  /// Its "tokenizer_class" without "Fast"; empty if there is none.
  std::string class_name() const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::optional<std::string> string(std::string_view key) const;
  /// The token that a key such as "pad_token" names.
  std::optional<std::string> token(std::string_view key) const;

  /// "added_tokens_decoder": tokens and the ids they are said to have.
  struct Added {
    std::vector<AddedToken> tokens;
    std::vector<std::optional<TokenId>> ids;
  };
  Added added() const;

 private:
  JsonValue root_;
};

}  // namespace attn
