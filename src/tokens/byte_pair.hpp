#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/model_token.hpp"

namespace attn {

/// Which pairs of tokens become one, and in which order: a flat table, as large vocabularies have
/// hundreds of thousands.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;  // the lower is done first
    TokenId id;          // of the token that the two become
  };

  explicit MergeTable(std::size_t merges);

  /// A pair that is there already gets the new rank.
  void add(TokenId left, TokenId right, Merge merge);
  /// Fetches the place of a pair that will be added soon.
  void expect(TokenId left, TokenId right) const noexcept {
    __builtin_prefetch(&slots_[first_slot_of(left, right)]);
  }
  const Merge* find(TokenId left, TokenId right) const noexcept;

 private:
  struct Slot {
    TokenId left = 0, right = 0;
    Merge merge{unused, 0};
  };
  static constexpr std::uint32_t unused = 0xFFFFFFFF;

  std::size_t first_slot_of(TokenId left, TokenId right) const noexcept;
  std::size_t slot_of(TokenId left, TokenId right) const noexcept;

  std::vector<Slot> slots_;
};

/// Byte-pair encoding (Sennrich et al. 2016): a word's characters, or the bytes of those that are
/// no tokens, are merged pair by pair in the order of the merges, the leftmost of equal rank first.
struct BytePairModel {
  std::shared_ptr<const TokenTable> tokens;
  std::shared_ptr<const MergeTable> merges;
  std::optional<TokenId> unknown;  // characters without a token are dropped if absent
  bool fuse_unknown = false;       // neighbouring unknown characters are one token
  bool byte_fallback = false;      // <0xE2> and the like for the bytes of unknown characters
  bool ignore_merges = false;      // a word that is a token is not cut
  std::string continuing_prefix, end_suffix;
  /// Of the tokens <0x00>…<0xFF>.
  std::vector<std::optional<TokenId>> bytes;

  void cut(std::string_view word, std::vector<ModelToken>& result) const;
};

/// The ids of <0x00>…<0xFF>.
std::vector<std::optional<TokenId>> byte_tokens(const TokenTable& tokens);

}  // namespace attn
