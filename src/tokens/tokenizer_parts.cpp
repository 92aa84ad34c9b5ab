#include "tokens/tokenizer_parts.hpp"

#include <algorithm>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "support/in_quotes.hpp"

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

void number_added_tokens(std::vector<AddedToken>& added, const TokenTable& tokens,
                         const std::vector<std::optional<TokenId>>& stated,
                         const std::string& where) {
  auto next = static_cast<TokenId>(tokens.size());
  TokenTable behind;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::string& content = added[i].content;
    std::optional<TokenId> id = tokens.find(content);
    if (!id) id = behind.find(content);
    if (!id) {
      id = next++;
      behind.add(content, *id);
    }
    if (stated[i] && *stated[i] != *id) {
      throw input_error("the added token " + in_quotes(content) + " has the id " +
                            std::to_string(*stated[i]) + ", but the vocabulary gives it " +
                            std::to_string(*id),
                        pointer_to(where, i),
                        "the ids of a vocabulary and its added tokens are 0, 1, … without a hole");
    }
    added[i].id = *id;
  }
}

void expect_no_hole(const TokenTable& tokens, const std::string& where) {
  if (tokens.size() == 0) {
    throw input_error("the vocabulary is empty", where, "take the file as it was published");
  }
  if (tokens.count() == tokens.size()) return;
  TokenId id = 0;
  while (tokens.has(id)) ++id;
  throw input_error("the vocabulary has a hole: no token has the id " + std::to_string(id) +
                        ", though there are ids up to " + std::to_string(tokens.size() - 1),
                    where, "give every id from 0 on a token");
}

void add_token(TokenTable& tokens, std::string_view token, TokenId id, const std::string& where) {
  if (tokens.has(id)) {
    throw input_error(in_quotes(tokens.token(id)) + " and " + in_quotes(token) + " have one id, " +
                          std::to_string(id),
                      pointer_to(where, token), "give every token its own id");
  }
  if (!tokens.add(token, id)) {
    throw input_error("the vocabulary holds " + in_quotes(token) + " twice",
                      pointer_to(where, token), "remove one of the two");
  }
}

void read_token_ids(JsonEvents& events, TokenTable& tokens, const std::string& where,
                    std::size_t most) {
  events.enter();
  std::string_view token;
  while (events.next_member(token)) {
    TokenId id = 0;
    if (!events.small_integer(id)) {
      throw input_error("expected the id of a token", pointer_to(where, token),
                        "take the file as it was published");
    }
    if (id >= most) {
      throw input_error(
          "the id " + std::to_string(id) + " is greater than a vocabulary of this size has",
          pointer_to(where, token), "give every id from 0 on a token");
    }
    add_token(tokens, token, id, where);
  }
}

std::shared_ptr<TokenTable> read_vocab_json(std::string_view text) {
  auto tokens = std::make_shared<TokenTable>();
  tokens->reserve(text.size() / 16, text.size() / 2);
  JsonEvents events(text);
  if (events.peek() != JsonValue::Type::object) {
    throw input_error("expected an object of tokens and ids", "",
                      "take the file as it was published");
  }
  read_token_ids(events, *tokens, "", text.size());
  events.expect_end();
  expect_no_hole(*tokens, "");
  return tokens;
}

void MergeList::add(std::string_view left, std::string_view right) {
  letters_ += left;
  const std::size_t middle = letters_.size();
  letters_ += right;
  ends_.push_back({middle, letters_.size()});
}

bool MergeList::add_line(std::string_view both) {
  const std::size_t space = both.find(' ');
  if (space == std::string_view::npos || both.find(' ', space + 1) != std::string_view::npos) {
    return false;
  }
  add(both.substr(0, space), both.substr(space + 1));
  return true;
}

std::shared_ptr<const MergeTable> MergeList::table(const TokenTable& tokens,
                                                   std::string_view prefix,
                                                   const std::string& where) const {
  auto result = std::make_shared<MergeTable>(ends_.size());
  const std::string_view letters = letters_;
  std::string joined;
  const auto id_of = [&](std::string_view token, std::size_t i) {
    if (const auto id = tokens.find(token)) return *id;
    throw input_error("the merge needs " + in_quotes(token) + ", which is not in the vocabulary",
                      pointer_to(where, i),
                      "take the vocabulary and the merges as they were published together");
  };
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const std::string_view left = letters.substr(begin, ends_[i].left - begin);
    const std::string_view right = letters.substr(ends_[i].left, ends_[i].right - ends_[i].left);
    const TokenId left_id = id_of(left, i), right_id = id_of(right, i);
    std::string_view both = letters.substr(begin, ends_[i].right - begin);
    if (!prefix.empty()) {
      joined = left;
      joined += right.substr(std::min(prefix.size(), right.size()));
      both = joined;
    }
    result->add(left_id, right_id, {static_cast<std::uint32_t>(i), id_of(both, i)});
    begin = ends_[i].right;
  }
  return result;
}

}  // namespace attn
