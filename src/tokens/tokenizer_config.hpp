#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "tokens/added_tokens.hpp"
#include "tokens/tokenizer.hpp"

// Settings in files next to a vocabulary: tokenizer_config.json, special_tokens_map.json and
// added_tokens.json.

namespace attn {

struct TokenizerParts;

inline const std::string tokenizer_config_name = "tokenizer_config.json",
                         special_tokens_name = "special_tokens_map.json",
                         added_tokens_name = "added_tokens.json";

/// Calls read() and puts the places of its errors inside a file.
template <class Read>
auto in_file(const std::string& name, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw error.inside(name);
  }
}

/// A key of the configuration, and the token that it stands for if it is absent.
struct NamedToken {
  std::string_view key, otherwise;
};

class TokenizerConfig {
 public:
  TokenizerConfig() = default;
  /// Throws Error(input) if one of the three files is there and is no JSON object.
  explicit TokenizerConfig(const TokenizerFiles& files);

  /// "tokenizer_class" without "Fast"; empty if there is none.
  std::string class_name() const;
  bool boolean(std::string_view key, bool otherwise) const;
  std::optional<bool> optional_boolean(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  /// Whether the key is there, be it null, where token() looks for it.
  bool has(std::string_view key) const;
  /// An integer from 0 to `most`.
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t most) const;
  /// The token that a key such as "pad_token" names: in special_tokens_map.json, unless
  /// tokenizer_config.json lists tokens or the map lacks it.
  std::optional<std::string> token(std::string_view key) const;

  /// The tokens of "added_tokens_decoder" and added_tokens.json in the order of the ids that these
  /// state.
  struct Added {
    std::vector<AddedToken> tokens;
    std::vector<std::optional<TokenId>> ids;
  };
  Added added() const;

  /// Whether there is an "added_tokens_decoder", beside which the two other files do not count for
  /// a tokenizer.json.
  bool lists_tokens() const;
  /// The tokens that count beside those of a tokenizer.json: those of "added_tokens_decoder", else
  /// those of added_tokens.json, in the order of the ids that these state.
  std::vector<std::pair<TokenId, AddedToken>> beside_tokenizer_json() const;
  /// The keys of tokenizer_config.json that nothing reads and that are not known to change nothing.
  std::vector<std::string> unknown_keys() const;
  /// The special tokens that keys name: "bos_token" and its like, then those of other keys and of
  /// lists, unless `without_lists`. Of a token that is named with other flags again these count.
  std::vector<AddedToken> special_tokens(bool without_lists = false) const;

 private:
  const JsonValue& listed() const;  // "added_tokens_decoder"
  void append_named(std::vector<std::pair<TokenId, AddedToken>>& all) const;
  void append_listed(std::vector<std::pair<TokenId, AddedToken>>& all) const;

  JsonValue root_{JsonValue::Object{}}, special_{JsonValue::Object{}}, added_{JsonValue::Object{}};
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names);

/// Throws Error(input) for a tokenizer_class that `files` are not enough for.
[[noreturn]] void refuse_class(const std::string& name, const std::string& files);

/// The added tokens of the configuration, and these special ones if the vocabulary has them. With
/// `mask_strips` the mask takes the space before it.
AddedTokens added_tokens_of(const TokenizerConfig& config, const TokenTable& tokens,
                            const std::vector<NamedToken>& special, bool mask_strips,
                            const std::vector<Normalizer>& normalizers);

/// The id of a token. Throws Error(input) at `where` if the vocabulary lacks it.
TokenId id_of(const TokenTable& tokens, const std::string& token, const std::string& where);

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
  /// `stated`: ids in the file; `vocabulary`: the model's. A class that builds its tokenizer anew
  /// leaves out what an "added_tokens_decoder" does not list.
  void change(std::vector<AddedToken>& added, std::vector<std::optional<TokenId>>& stated,
              const TokenTable& vocabulary);
  /// Notes where the tokenizer's ids, unknown token and tokens around texts are others than the
  /// configuration, or its class, says.
  void compare(const TokenizerParts& parts);

  /// Whether special tokens that a text names are cut as other text is.
  bool splits_special() const noexcept { return splits_special_; }

  /// What the files leave open, for reports.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  struct BuiltClass;
  enum class Stages { file, word_piece, byte_level, llama };

  static const std::vector<BuiltClass>& built_classes();
  bool builds(Stages stages) const;
  void list_anew(std::vector<AddedToken>& added, std::vector<std::optional<TokenId>>& stated);
  std::vector<NamedToken> defaults() const;
  void compare_ends(const TokenizerParts& parts);

  TokenizerConfig config_;
  const BuiltClass* built_ = nullptr;  // none: the library's own class, which follows the file
  std::optional<bool> prefix_;
  bool splits_special_ = false;
  std::vector<std::pair<std::string, TokenId>> stated_;
  std::vector<std::string> warnings_;
};

}  // namespace attn
