#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/json_value.hpp"
#include "tokens/tokenizer_config.hpp"

namespace attn {

/// What tokenizer_config.json, special_tokens_map.json and added_tokens.json change in the
/// tokenizer.json beside them, as transformers 5 has it. Its classes build some stages anew by
/// settings of their own; tokens are added to those of the file, and flags are the configuration's.
class TokenizerChanges {
 public:
  TokenizerChanges() = default;
  /// Throws Error(input) as TokenizerConfig does.
  explicit TokenizerChanges(const TokenizerFiles& files);

  /// A stage of the file as the class builds it: its normalizer or its pre-tokenizer.
  JsonValue normalizer(JsonValue own) const;
  JsonValue splitter(JsonValue own);

  /// Puts the tokens of the configuration behind those of the file, and its flags in their place.
  void change(std::vector<AddedToken>& added);
  /// Notes where ids that the configuration states are others than the tokens have, and where it
  /// says other of the tokens around texts than the file.
  void compare(const std::vector<AddedToken>& added, const TextTemplate& around);

  /// Whether special tokens that a text names are cut as other text is.
  bool splits_special() const noexcept { return splits_special_; }

  /// What the files leave open, for reports.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  enum class Class { other, word_piece, byte_level, llama };

  TokenizerConfig config_;
  Class class_ = Class::other;
  std::optional<bool> prefix_;
  bool splits_special_ = false;
  std::vector<std::pair<std::string, TokenId>> stated_;
  std::vector<std::string> warnings_;
};

}  // namespace attn
