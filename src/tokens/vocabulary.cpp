#include "tokens/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
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

namespace {

// Multiplies eight bytes at a time by the golden ratio.
std::uint32_t hash_of(std::string_view token) noexcept {
  constexpr std::uint64_t ratio = 0x9E3779B97F4A7C15;
  std::uint64_t hash = token.size() * ratio;
  while (!token.empty()) {
    std::uint64_t eight = 0;
    const std::size_t count = std::min(token.size(), sizeof eight);
    std::memcpy(&eight, token.data(), count);
    token.remove_prefix(count);
    hash = (hash ^ eight) * ratio;
    hash ^= hash >> 29;
  }
  return static_cast<std::uint32_t>(hash >> 16);
}

// The first eight bytes as a number that sorts as they do.
std::uint64_t sorting_key(std::string_view text) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) {
    key = key << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return key;
}

}  // namespace

void TokenTable::reserve(std::size_t tokens, std::size_t bytes) {
  letters_.reserve(bytes);
  places_.reserve(tokens);
  if (2 * tokens > slots_.size()) grow(std::bit_ceil(2 * tokens));
}

void TokenTable::grow(std::size_t slots) {
  const std::vector<Slot> before = std::move(slots_);
  slots_.assign(slots, {});
  for (const Slot& slot : before) {
    if (slot.id_plus_one == 0) continue;
    std::size_t i = slot.hash & (slots - 1);
    while (slots_[i].id_plus_one != 0) i = (i + 1) & (slots - 1);
    slots_[i] = slot;
  }
}

// The slot that holds the token, or in which it would be entered.
std::size_t TokenTable::slot_of(std::string_view token, std::uint32_t hash) const noexcept {
  std::size_t i = hash & (slots_.size() - 1);
  while (slots_[i].id_plus_one != 0 &&
         (slots_[i].hash != hash || this->token(slots_[i].id_plus_one - 1) != token)) {
    i = (i + 1) & (slots_.size() - 1);
  }
  return i;
}

bool TokenTable::add(std::string_view token, TokenId id) {
  constexpr std::size_t fewest_slots = 64;
  if (2 * (count_ + 1) > slots_.size()) grow(std::max(fewest_slots, 2 * slots_.size()));
  const std::uint32_t hash = hash_of(token);
  Slot& slot = slots_[slot_of(token, hash)];
  if (slot.id_plus_one != 0) return false;
  slot = {hash, id + 1};
  if (id >= places_.size()) places_.resize(std::size_t{id} + 1);
  places_[id] = {static_cast<std::uint32_t>(letters_.size()),
                 static_cast<std::uint32_t>(token.size())};
  letters_ += token;
  longest_ = std::max(longest_, token.size());
  ++count_;
  return true;
}

std::optional<TokenId> TokenTable::find(std::string_view token) const noexcept {
  if (count_ == 0 || token.size() > longest_) return std::nullopt;
  const Slot& slot = slots_[slot_of(token, hash_of(token))];
  if (slot.id_plus_one == 0) return std::nullopt;
  return slot.id_plus_one - 1;
}

void TokenTable::find_all(std::span<const std::string_view> tokens, std::span<TokenId> ids) const {
  std::fill(ids.begin(), ids.end(), none);
  if (count_ == 0) return;
  constexpr std::size_t most = 64;  // at a time, as a first-level cache waits for few lines
  std::array<std::uint32_t, most> hashes{};
  std::array<std::size_t, most> slots{};
  for (std::size_t first = 0; first < tokens.size(); first += most) {
    const std::size_t count = std::min(most, tokens.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_of(tokens[first + i]);
      slots[i] = hashes[i] & (slots_.size() - 1);
      __builtin_prefetch(&slots_[slots[i]]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t& at = slots[i];
      while (slots_[at].id_plus_one != 0 && slots_[at].hash != hashes[i]) {
        at = (at + 1) & (slots_.size() - 1);
      }
      if (slots_[at].id_plus_one != 0) __builtin_prefetch(&places_[slots_[at].id_plus_one - 1]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t id_plus_one = slots_[slots[i]].id_plus_one;
      if (id_plus_one != 0) __builtin_prefetch(letters_.data() + places_[id_plus_one - 1].begin);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t id_plus_one = slots_[slots[i]].id_plus_one;
      if (id_plus_one == 0) continue;
      const std::string_view token = tokens[first + i];
      // Two tokens may have one hash.
      ids[first + i] =
          this->token(id_plus_one - 1) == token ? id_plus_one - 1 : find(token).value_or(none);
    }
  }
}

PrefixIndex::PrefixIndex(std::vector<std::string_view> texts) : texts_(std::move(texts)) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  keys.reserve(texts_.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i].empty()) continue;
    keys.emplace_back(sorting_key(texts_[i]), static_cast<std::uint32_t>(i));
  }
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : texts_[a.second] < texts_[b.second];
  });
  order_.reserve(keys.size());
  for (const auto& [key, i] : keys) {
    order_.push_back(i);
    ++firsts_[(key >> 56) + 1];
  }
  for (std::size_t i = 1; i < firsts_.size(); ++i) firsts_[i] += firsts_[i - 1];
}

}  // namespace attn
