#include "tokens/token_table.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace attn {
namespace {

std::uint32_t hash_of(std::string_view token) noexcept {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(token));
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

// Where the token is, or would be entered.
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

}  // namespace attn
