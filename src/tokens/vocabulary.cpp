#include "tokens/vocabulary.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "attn/error.hpp"

#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {

struct Vocabulary::Index {
  std::vector<std::string> tokens;
  std::unordered_map<std::string_view, std::int64_t> ids;  // the keys point into `tokens`

  explicit Index(std::vector<std::string> list) : tokens(std::move(list)) {
    ids.reserve(tokens.size());
  }

  // Enters all tokens; returns both indices of the first that is given twice.
  std::optional<std::pair<std::size_t, std::size_t>> first_duplicate() {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const auto [entry, is_new] = ids.emplace(tokens[i], static_cast<std::int64_t>(i));
      if (!is_new) return std::pair(static_cast<std::size_t>(entry->second), i);
    }
    return std::nullopt;
  }
};

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n");
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return lines;
}

// Whether the texts have a character in common. Two Chinese words without one may be only a few
// bytes apart, which does not make one a suggestion for the other.
bool share_a_character(std::string_view token, std::string_view known, std::string_view where) {
  return characters_of(token, where).find_first_of(characters_of(known, where)) !=
         std::u32string::npos;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

Vocabulary Vocabulary::from_list(std::vector<std::string> tokens, const std::string& where) {
  if (tokens.empty()) {
    throw input_error(translated("the vocabulary is empty"), where,
                      translated("list the tokens in order of their ids"));
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    characters_of(tokens[i], where + "/" + std::to_string(i));
  }
  const auto index = std::make_shared<Index>(std::move(tokens));
  if (const auto duplicate = index->first_duplicate()) {
    throw input_error(translated("the vocabulary holds {1} twice: at {2} and {3}",
                                 in_quotes(index->tokens[duplicate->second]), duplicate->first,
                                 duplicate->second),
                      where + "/" + std::to_string(duplicate->second),
                      translated("give every token one id: remove one of the two"));
  }
  return Vocabulary(index);
}

Vocabulary Vocabulary::from_text(std::string_view text, const std::string& where) {
  characters_of(text, where);
  std::vector<std::string> tokens = lines_of(text);
  if (tokens.empty()) {
    throw input_error(translated("the vocabulary is empty"), where,
                      translated("write one token per line"));
  }
  const auto index = std::make_shared<Index>(std::move(tokens));
  if (const auto duplicate = index->first_duplicate()) {
    throw input_error(translated("the vocabulary holds {1} twice: on lines {2} and {3}",
                                 in_quotes(index->tokens[duplicate->second]), duplicate->first + 1,
                                 duplicate->second + 1),
                      where + ", line " + std::to_string(duplicate->second + 1),
                      translated("give every token one id: remove one of the two"));
  }
  return Vocabulary(index);
}

std::size_t Vocabulary::size() const noexcept {
  return index_->tokens.size();
}

const std::string& Vocabulary::token(std::int64_t id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= size()) {
    throw Error(ErrorKind::internal, translated("the vocabulary has no token {1}", id), "", "");
  }
  return index_->tokens[static_cast<std::size_t>(id)];
}

std::optional<std::int64_t> Vocabulary::find(std::string_view token) const {
  const auto entry = index_->ids.find(token);
  if (entry == index_->ids.end()) return std::nullopt;
  return entry->second;
}

std::int64_t Vocabulary::id(std::string_view token, std::string_view where,
                            std::string_view advice) const {
  if (const auto known = find(token)) return *known;
  constexpr std::size_t few = 12;  // largest vocabulary that is listed if no token is near
  const std::vector<std::string_view> tokens(index_->tokens.begin(), index_->tokens.end());
  std::string help;
  const std::string_view nearest = nearest_name(token, tokens);
  if (!nearest.empty() && (is_ascii(token) || share_a_character(token, nearest, where))) {
    help = translated("did you mean {1}?", in_quotes(nearest));
  } else if (tokens.size() <= few) {
    help = "known: ";
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) help += ", ";
      help += in_quotes(tokens[i]);
    }
  } else {
    help = translated("none of the vocabulary's {1} tokens is near it", tokens.size());
  }
  if (!advice.empty()) help += (help.ends_with('?') ? " " : "; ") + std::string(advice);
  throw input_error(translated("token {1} is not in the vocabulary", in_quotes(token)),
                    std::string(where), help);
}

}  // namespace attn
