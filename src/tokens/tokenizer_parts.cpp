#include "tokens/tokenizer_parts.hpp"

#include <algorithm>
#include <array>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "support/in_quotes.hpp"
#include "support/parallel_for.hpp"
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

void number_added_tokens(std::vector<AddedToken>& added, const TokenTable& tokens,
                         const std::vector<std::optional<TokenId>>& stated) {
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
      throw input_error(
          translated("the added token {1} has the id {2}, but the vocabulary gives it {3}",
                     in_quotes(content), *stated[i], *id),
          added[i].place,
          translated("the ids of a vocabulary and its added tokens are 0, 1, … without a hole"));
    }
    added[i].id = *id;
  }
}

void expect_no_hole(const TokenTable& tokens, const std::string& where) {
  if (tokens.size() == 0) {
    throw input_error(translated("the vocabulary is empty"), where,
                      translated("take the file as it was published"));
  }
  if (tokens.count() == tokens.size()) return;
  TokenId id = 0;
  while (tokens.has(id)) ++id;
  throw input_error(
      translated(
          "the vocabulary has a hole: no token has the id {1}, though there are ids up to {2}", id,
          tokens.size() - 1),
      where, translated("give every id from 0 on a token"));
}

void add_token(TokenTable& tokens, std::string_view token, TokenId id, const std::string& where) {
  if (tokens.has(id)) {
    throw input_error(translated("{1} and {2} have one id, {3}", in_quotes(tokens.token(id)),
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
                        translated("take the file as it was published"));
    }
    if (id >= most) {
      throw input_error(translated("the id {1} is greater than a vocabulary of this size has", id),
                        pointer_to(where, token), translated("give every id from 0 on a token"));
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
                      translated("take the file as it was published"));
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

std::shared_ptr<const MergeTable> MergeList::table(
    const TokenTable& tokens, std::string_view prefix,
    const std::function<std::string(std::size_t)>& place_of) const {
  // 1. The ids of each merge: of its left and right half, and of what they become.
  struct Ids {
    TokenId left = TokenTable::none, right = TokenTable::none, both = TokenTable::none;
  };
  std::vector<Ids> ids(ends_.size());
  const std::string_view letters = letters_;
  const auto begin_of = [&](std::size_t i) { return i == 0 ? 0 : ends_[i - 1].right; };
  constexpr std::size_t at_once = 32;
  const auto look_up = [&](std::size_t first) {
    std::array<std::string_view, 3 * at_once> wanted;
    std::array<TokenId, 3 * at_once> found{};
    std::array<std::string, at_once> joined;
    const std::size_t count = std::min(at_once, ends_.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      const Ends& ends = ends_[first + i];
      const std::size_t begin = begin_of(first + i);
      const std::string_view left = letters.substr(begin, ends.left - begin);
      const std::string_view right = letters.substr(ends.left, ends.right - ends.left);
      wanted[3 * i] = left;
      wanted[3 * i + 1] = right;
      wanted[3 * i + 2] = letters.substr(begin, ends.right - begin);
      if (!prefix.empty()) {
        joined[i] = left;
        joined[i] += right.substr(std::min(prefix.size(), right.size()));
        wanted[3 * i + 2] = joined[i];
      }
    }
    tokens.find_all(std::span(wanted).first(3 * count), found);
    for (std::size_t i = 0; i < count; ++i) {
      ids[first + i] = {found[3 * i], found[3 * i + 1], found[3 * i + 2]};
    }
  };
  constexpr std::size_t block = 512 * at_once;  // of a thread
  parallel_for((ends_.size() + block - 1) / block, 0, [&](std::size_t part) {
    const std::size_t end = std::min(ends_.size(), (part + 1) * block);
    for (std::size_t first = part * block; first < end; first += at_once) look_up(first);
  });

  // 2. The table.
  auto result = std::make_shared<MergeTable>(ends_.size());
  constexpr std::size_t ahead = 16;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + ahead < ids.size()) result->expect(ids[i + ahead].left, ids[i + ahead].right);
    const auto& [left, right, both] = ids[i];
    if (left == TokenTable::none || right == TokenTable::none || both == TokenTable::none) {
      const std::size_t begin = begin_of(i), middle = ends_[i].left;
      std::string missing(letters.substr(begin, middle - begin));
      if (left != TokenTable::none) {
        const std::string second(letters.substr(middle, ends_[i].right - middle));
        missing = right == TokenTable::none
                      ? second
                      : missing + second.substr(std::min(prefix.size(), second.size()));
      }
      throw input_error(
          translated("the merge needs {1}, which is not in the vocabulary", in_quotes(missing)),
          place_of(i),
          translated("take the vocabulary and the merges as they were published together"));
    }
    result->add(left, right, {static_cast<std::uint32_t>(i), both});
  }
  return result;
}

}  // namespace attn
