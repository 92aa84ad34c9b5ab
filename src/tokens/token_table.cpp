#include "tokens/token_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace attn {
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
