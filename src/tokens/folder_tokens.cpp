#include "tokens/folder_tokens.hpp"

#include <algorithm>
#include <utility>

#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {
namespace {

// The tokens that a tokenizer has by itself, unless the configuration gives them flags of its own.
void add_special(std::vector<AddedToken>& added, const std::string& content, bool strip_left) {
  const bool known = std::any_of(added.begin(), added.end(),
                                 [&](const AddedToken& t) { return t.content == content; });
  if (known || content.empty()) return;
  AddedToken token;
  token.content = content;
  token.special = true;
  token.strip_left = strip_left;
  added.push_back(token);
}

}  // namespace

TokenizerConfig config_of(const TokenizerFiles& files) {
  TokenizerConfig config =
      in_file(tokenizer_config_name, [&] { return TokenizerConfig(files.tokenizer_config); });
  in_file(special_tokens_name, [&] { config.take_special_tokens(files.special_tokens_map); });
  in_file(added_tokens_name, [&] { config.take_added_tokens(files.added_tokens); });
  return config;
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void refuse_class(const std::string& name, const std::string& files) {
  throw input_error(
      translated("the tokenizer {1} cannot be made from {2} alone", in_quotes(name), files),
      tokenizer_config_name + ", /tokenizer_class",
      translated("save it as tokenizer.json, with Python: "
                 "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"));
}

AddedTokens added_tokens_of(const TokenizerConfig& config, const TokenTable& tokens,
                            const std::vector<NamedToken>& special, bool mask_strips,
                            const std::vector<Normalizer>& normalizers) {
  TokenizerConfig::Added numbered = config.added();
  std::vector<AddedToken>& added = numbered.tokens;
  std::vector<std::optional<TokenId>>& ids = numbered.ids;
  for (const auto& [key, otherwise] : special) {
    const std::string content = config.token(key).value_or(std::string(otherwise));
    if (tokens.find(content)) add_special(added, content, mask_strips && key == "mask_token");
  }
  ids.resize(added.size());
  number_added_tokens(added, tokens, ids);
  return {std::move(added), normalizers, tokenizer_config_name + ", /added_tokens_decoder"};
}

TokenId id_of(const TokenTable& tokens, const std::string& token, const std::string& where) {
  if (const auto id = tokens.find(token)) return *id;
  throw input_error(translated("the token {1} is not in the vocabulary", in_quotes(token)), where,
                    translated("take the files of the folder as they were published together"));
}

}  // namespace attn
