#include "view/shown_tokens.hpp"

#include "plot/text/token_labels.hpp"

namespace attn {
namespace {

std::vector<std::size_t> special_of(const std::vector<std::string>& pieces,
                                    const std::vector<std::uint8_t>& told) {
  std::vector<std::size_t> special;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool is = i < told.size() ? told[i] != 0 : is_special_token(pieces[i]);
    if (is || is_special_token(pieces[i])) special.push_back(i);
  }
  return special;
}

ShownTokens shown_tokens(const std::vector<std::string>& pieces, std::vector<std::size_t> special,
                         TokenSpelling spelling) {
  ShownTokens tokens{pieces, readable_tokens(pieces, spelling, false), {}, std::move(special)};
  if (spelling == TokenSpelling::plain) return tokens;  // nothing tells which pieces make a word
  for (const Word& word : words_of(pieces, spelling)) {
    tokens.words.emplace_back(word.first, word.end);
  }
  return tokens;
}

}  // namespace

TokenLists::Axes TokenLists::add(const std::vector<std::string>& queries,
                                 const std::vector<std::uint8_t>& special_queries,
                                 const std::vector<std::string>& keys,
                                 const std::vector<std::uint8_t>& special_keys) {
  const TokenSpelling spelling = token_spelling({&queries, &keys});
  const auto number = [&](const std::vector<std::string>& pieces,
                          const std::vector<std::uint8_t>& told) {
    std::vector<std::size_t> special = special_of(pieces, told);
    std::vector<std::size_t> made_with = special;
    made_with.push_back(static_cast<std::size_t>(spelling));
    const auto [found, is_new] = known_.try_emplace({pieces, made_with}, all_.size());
    if (is_new) all_.push_back(shown_tokens(pieces, std::move(special), spelling));
    return found->second;
  };
  const std::size_t first = number(queries, special_queries);
  return {first, number(keys, special_keys)};
}

}  // namespace attn
