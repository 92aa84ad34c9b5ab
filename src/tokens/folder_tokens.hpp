#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "tokens/added_tokens.hpp"
#include "tokens/normalizers.hpp"
#include "tokens/tokenizer.hpp"
#include "tokens/tokenizer_config.hpp"

namespace attn {

inline const std::string tokenizer_config_name = "tokenizer_config.json",
                         special_tokens_name = "special_tokens_map.json",
                         added_tokens_name = "added_tokens.json";

/// Calls read(), whose errors are inside a file.
template <class Read>
auto in_file(const std::string& name, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw error.inside(name);
  }
}

/// What tokenizer_config.json says, and special_tokens_map.json and added_tokens.json where it says
/// nothing.
TokenizerConfig config_of(const TokenizerFiles& files);

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names);

/// A tokenizer_class that `files` are not enough for.
[[noreturn]] void refuse_class(const std::string& name, const std::string& files);

/// A key of the configuration, and the token that it names where it is not there.
struct NamedToken {
  std::string_view key, otherwise;
};

/// All added tokens: those of the configuration, and these special ones so far as the vocabulary
/// has them. The mask takes the space before it where `mask_strips`.
AddedTokens added_tokens_of(const TokenizerConfig& config, const TokenTable& tokens,
                            const std::vector<NamedToken>& special, bool mask_strips,
                            const std::vector<Normalizer>& normalizers);

/// Throws Error(input) at `where` if the vocabulary has no such token.
TokenId id_of(const TokenTable& tokens, const std::string& token, const std::string& where);

}  // namespace attn
