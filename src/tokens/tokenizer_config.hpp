#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_value.hpp"
#include "tokens/added_tokens.hpp"

namespace attn {

/// tokenizer_config.json: what the files of vocabularies do not tell.
class TokenizerConfig {
 public:
  /// Throws Error(input) if `text` is given and is no JSON object.
  explicit TokenizerConfig(std::optional<std::string_view> text);

  /// special_tokens_map.json: tokens that the configuration does not name.
  void take_special_tokens(std::optional<std::string_view> text);
  /// added_tokens.json: tokens and ids that the configuration does not list.
  void take_added_tokens(std::optional<std::string_view> text);

  /// Its "tokenizer_class" without "Fast"; empty if there is none.
  std::string class_name() const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::optional<std::string> string(std::string_view key) const;
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t most) const;
  /// The token that a key such as "pad_token" names.
  std::optional<std::string> token(std::string_view key) const;

  /// "added_tokens_decoder": tokens and the ids they are said to have.
  struct Added {
    std::vector<AddedToken> tokens;
    std::vector<std::optional<TokenId>> ids;
  };
  Added added() const;

 private:
  /// Of "added_tokens_decoder".
  const JsonValue& listed() const;
  void append_named(std::vector<std::pair<TokenId, AddedToken>>& all) const;
  void append_listed(std::vector<std::pair<TokenId, AddedToken>>& all) const;

  JsonValue root_, special_{JsonValue::Object{}}, added_{JsonValue::Object{}};
};

}  // namespace attn
