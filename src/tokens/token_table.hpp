#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

using TokenId = std::uint32_t;

/// Hundreds of thousands of tokens and their ids, both ways. All letters stand in one block and
/// the table of hashes is flat, as most of the time to load a large vocabulary goes here.
class TokenTable {
 public:
  void reserve(std::size_t tokens, std::size_t bytes);

  /// False, and nothing happens, if the token is there already.
  bool add(std::string_view token, TokenId id);

  /// One more than the largest id.
  std::size_t size() const noexcept { return places_.size(); }
  std::size_t count() const noexcept { return count_; }
  bool has(TokenId id) const noexcept { return id < size() && places_[id].length != absent; }

  std::optional<TokenId> find(std::string_view token) const noexcept;

  /// The ids of several tokens at a time, `none` for what is not there. A large table is in no
  /// cache: its places are fetched while others are looked at.
  void find_all(std::span<const std::string_view> tokens, std::span<TokenId> ids) const;
  static constexpr TokenId none = 0xFFFFFFFF;
  /// The token of an id that the table has.
  std::string_view token(TokenId id) const noexcept {
    return std::string_view(letters_).substr(places_[id].begin, places_[id].length);
  }

  /// Bytes of the longest token.
  std::size_t longest() const noexcept { return longest_; }

 private:
  static constexpr std::uint32_t absent = 0xFFFFFFFF;
  struct Place {
    std::uint32_t begin = 0, length = absent;
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id_plus_one = 0;
  };

  std::size_t slot_of(std::string_view token, std::uint32_t hash) const noexcept;
  void grow(std::size_t slots);

  std::string letters_;
  std::vector<Place> places_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t count_ = 0, longest_ = 0;
};

}  // namespace attn
