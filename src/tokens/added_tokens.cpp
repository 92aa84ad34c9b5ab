#include "tokens/added_tokens.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

// The content of a token as it stands in normalized text.
std::string normalized_content(const AddedToken& token, const std::vector<Normalizer>& normalizers,
                               const std::string& where) {
  AlignedText text;
  text.append(token.content, {});
  MatchBudget budget(token.content.size());
  for (const Normalizer& normalize : normalizers) normalize(text, budget);
  if (!text.text.empty()) return text.text;
  throw input_error(
      translated("normalization leaves nothing of the added token {1}", in_quotes(token.content)),
      token.place.empty() ? where : token.place, translated("write \"normalized\": false for it"));
}

bool ends_in_word(std::string_view text) {
  if (text.empty()) return false;
  std::size_t at = text.size() - 1;
  while (continues_character(text[at])) --at;
  return is_word_character(next_character(text, at));
}

bool begins_with_word(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && is_word_character(next_character(text, at));
}

// The begin of the white space with which the text ends.
std::size_t trailing_space(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t at = end - 1;
    while (continues_character(text[at])) --at;
    const std::size_t begin = at;
    if (!is_white_space(next_character(text, at))) break;
    end = begin;
  }
  return end;
}

// The end of the white space with which the text begins.
std::size_t leading_space(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size()) {
    std::size_t at = end;
    if (!is_white_space(next_character(text, at))) break;
    end = at;
  }
  return end;
}

}  // namespace

AddedToken read_added_token(const Stage& entry, bool complete) {
  const auto flag = [&](std::string_view key, bool otherwise) {
    return complete ? entry.boolean(key) : entry.boolean(key, otherwise);
  };
  AddedToken token;
  token.content = entry.string("content");
  token.single_word = flag("single_word", false);
  token.strip_left = flag("lstrip", false);
  token.strip_right = flag("rstrip", false);
  token.special = flag("special", false);
  token.normalized = flag("normalized", !token.special);
  return token;
}

void number_added_tokens(std::vector<AddedToken>& added, const TokenTable& tokens,
                         const std::vector<std::optional<TokenId>>& stated) {
  auto next = static_cast<TokenId>(tokens.size());
  TokenTable others;
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::string& content = added[i].content;
    std::optional<TokenId> id = tokens.find(content);
    if (!id) id = others.find(content);
    if (!id) {
      const bool fills_hole = stated[i] && *stated[i] < tokens.size() && !tokens.has(*stated[i]) &&
                              !others.has(*stated[i]);
      id = fills_hole ? *stated[i] : next++;
      others.add(content, *id);
    }
    if (stated[i] && *stated[i] != *id) {
      throw input_error(
          translated("the added token {1} has the id {2}, but the vocabulary gives it {3}",
                     in_quotes(content), *stated[i], *id),
          added[i].place,
          translated("the ids of a vocabulary and its added tokens are 0, 1, … without a gap"));
    }
    added[i].id = *id;
  }
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const std::vector<Normalizer>& normalizers,
                         const std::string& where)
    : tokens_(std::move(tokens)) {
  // A special token wins over others with the same pattern, and else the first one.
  std::vector<std::size_t> order(tokens_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return tokens_[i].special; });
  for (const std::size_t i : order) {
    Patterns& patterns = tokens_[i].normalized ? normalized_ : raw_;
    patterns.texts.push_back(tokens_[i].normalized
                                 ? normalized_content(tokens_[i], normalizers, where)
                                 : tokens_[i].content);
    patterns.owners.push_back(i);
  }
  for (Patterns* patterns : {&raw_, &normalized_}) {
    std::vector<std::size_t> sorted(patterns->texts.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::stable_sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
      return patterns->texts[a] < patterns->texts[b];
    });
    const auto last = std::unique(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
      return patterns->texts[a] == patterns->texts[b];
    });
    sorted.erase(last, sorted.end());
    Patterns different;
    for (const std::size_t i : sorted) {
      different.texts.push_back(patterns->texts[i]);
      different.owners.push_back(patterns->owners[i]);
    }
    *patterns = std::move(different);
    patterns->index = PrefixIndex({patterns->texts.begin(), patterns->texts.end()});
  }
  const auto sorted_by = [&](auto key) {
    std::vector<std::size_t> sorted(tokens_.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::sort(sorted.begin(), sorted.end(),
              [&](std::size_t a, std::size_t b) { return key(tokens_[a]) < key(tokens_[b]); });
    return sorted;
  };
  by_id_ = sorted_by([](const AddedToken& t) { return t.id; });
  by_content_ = sorted_by([](const AddedToken& t) -> std::string_view { return t.content; });
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  const auto found = std::lower_bound(
      by_content_.begin(), by_content_.end(), content,
      [&](std::size_t i, std::string_view wanted) { return tokens_[i].content < wanted; });
  if (found == by_content_.end() || tokens_[*found].content != content) return nullptr;
  return &tokens_[*found];
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto found =
      std::lower_bound(by_id_.begin(), by_id_.end(), id,
                       [&](std::size_t i, TokenId wanted) { return tokens_[i].id < wanted; });
  if (found == by_id_.end() || tokens_[*found].id != id) return nullptr;
  return &tokens_[*found];
}

void AddedTokens::settle(SplitText& text, bool normalized, bool without_special) const {
  const Patterns& patterns = normalized ? normalized_ : raw_;
  if (patterns.texts.empty()) return;
  std::vector<SplitText::Part> parts;
  for (const SplitText::Part& part : text.parts) {
    if (part.token) {
      parts.push_back(part);
    } else {
      cut(text, part, patterns, without_special, parts);
    }
  }
  text.parts = std::move(parts);
}

void AddedTokens::cut(const SplitText& text, const SplitText::Part& part, const Patterns& patterns,
                      bool without_special, std::vector<SplitText::Part>& parts) const {
  const std::string_view all = text.part(part);
  const auto add = [&](std::size_t begin, std::size_t end, std::optional<TokenId> token) {
    if (begin < end) parts.push_back({part.begin + begin, part.begin + end, token});
  };
  std::size_t done = 0;
  for (std::size_t at = 0; at < all.size();) {
    std::optional<std::size_t> longest;
    patterns.index.for_each_prefix(all.substr(at), [&](std::size_t i) { longest = i; });
    if (!longest) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + patterns.texts[*longest].size();
    at = end;
    const AddedToken& token = tokens_[patterns.owners[*longest]];
    if (token.special && without_special) continue;
    if (token.single_word &&
        (ends_in_word(all.substr(0, begin)) || begins_with_word(all.substr(end)))) {
      continue;
    }
    if (token.strip_left) begin = std::max(trailing_space(all.substr(0, begin)), done);
    if (token.strip_right) end += leading_space(all.substr(end));
    add(done, begin, std::nullopt);
    add(begin, end, token.id);
    done = end;
  }
  add(done, all.size(), std::nullopt);
}

}  // namespace attn
