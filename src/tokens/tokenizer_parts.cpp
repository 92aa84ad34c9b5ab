#include "tokens/tokenizer_parts.hpp"

#include <algorithm>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

std::size_t TokenizerParts::size() const {
  std::size_t size = tokens->size();
  for (const AddedToken& token : added.tokens()) size = std::max<std::size_t>(size, token.id + 1);
  return size;
}

std::optional<TokenId> TokenizerParts::find(std::string_view token) const {
  if (const AddedToken* found = added.find(token)) return found->id;
  return tokens->find(token);
}

std::string_view TokenizerParts::token(TokenId id) const {
  if (tokens->has(id)) return tokens->token(id);
  const AddedToken* own = added.find(id);
  return own == nullptr ? std::string_view() : own->content;
}

void expect_tokens(const TokenTable& tokens, const std::string& where) {
  if (tokens.size() > 0) return;
  throw input_error(translated("the vocabulary is empty"), where,
                    translated("use the file as published"));
}

void add_token(TokenTable& tokens, std::string_view token, TokenId id, const std::string& where) {
  if (tokens.has(id)) {
    throw input_error(translated("{1} and {2} have the same id, {3}", in_quotes(tokens.token(id)),
                                 in_quotes(token), id),
                      pointer_to(where, token), translated("give every token its own id"));
  }
  if (!tokens.add(token, id)) {
    throw input_error(translated("the vocabulary holds {1} twice", in_quotes(token)),
                      pointer_to(where, token), translated("remove one of the two"));
  }
}

void read_token_ids(JsonEvents& events, TokenTable& tokens, const std::string& where,
                    std::size_t most) {
  events.enter();
  std::string_view token;
  while (events.next_member(token)) {
    TokenId id = 0;
    if (!events.small_integer(id)) {
      throw input_error(translated("expected the id of a token"), pointer_to(where, token),
                        translated("use the file as published"));
    }
    if (id >= most) {
      throw input_error(translated("the id {1} is greater than a vocabulary of this size has", id),
                        pointer_to(where, token), translated("give a token to every id from 0 on"));
    }
    add_token(tokens, token, id, where);
  }
}

std::shared_ptr<TokenTable> read_vocab_json(std::string_view text) {
  auto tokens = std::make_shared<TokenTable>();
  tokens->reserve(text.size() / 16, text.size() / 2);
  JsonEvents events(text);
  if (events.peek() != JsonValue::Type::object) {
    throw input_error(translated("expected an object of tokens and ids"), "",
                      translated("use the file as published"));
  }
  read_token_ids(events, *tokens, "", text.size());
  events.expect_end();
  expect_tokens(*tokens, "");
  return tokens;
}

}  // namespace attn
