#include "tokens/byte_pair.hpp"

#include <algorithm>
#include <bit>
#include <queue>

#include "tokens/aligned_text.hpp"

namespace attn {
namespace {

// A token of a word being merged. Neighbours are linked; what has been merged into the one before
// it is gone.
struct Symbol {
  TokenId id;
  std::size_t begin, end;
  std::size_t previous, next;
  bool gone = false;
};
constexpr std::size_t none = static_cast<std::size_t>(-1);

struct Candidate {
  std::uint32_t rank;
  TokenId id;
  std::size_t place;  // of the left symbol

  friend bool operator<(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;  // the best is the greatest
  }
};

void merge_all(std::vector<Symbol>& symbols, const MergeTable& merges) {
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::size_t left, std::size_t right) {
    if (const auto* merge = merges.find(symbols[left].id, symbols[right].id)) {
      queue.push({merge->rank, merge->id, left});
    }
  };
  for (std::size_t i = 1; i < symbols.size(); ++i) consider(i - 1, i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.place];
    if (left.gone || left.next == none) continue;
    Symbol& right = symbols[left.next];
    // Either may have changed since the candidate was entered.
    const auto* merge = merges.find(left.id, right.id);
    if (merge == nullptr || merge->id != best.id) continue;
    left.id = best.id;
    left.end = right.end;
    right.gone = true;
    left.next = right.next;
    if (left.next != none) symbols[left.next].previous = best.place;
    if (left.previous != none) consider(left.previous, best.place);
    if (left.next != none) consider(best.place, left.next);
  }
}

}  // namespace

MergeTable::MergeTable(std::size_t merges)
    : slots_(std::bit_ceil(std::max<std::size_t>(2, merges + merges / 2))) {}

std::size_t MergeTable::first_slot_of(TokenId left, TokenId right) const noexcept {
  const std::uint64_t pair = std::uint64_t{left} << 32 | right;
  const std::uint64_t mixed = (pair ^ pair >> 29) * 0x9E3779B97F4A7C15;
  return static_cast<std::size_t>(mixed >> 32) & (slots_.size() - 1);
}

std::size_t MergeTable::slot_of(TokenId left, TokenId right) const noexcept {
  std::size_t i = first_slot_of(left, right);
  while (slots_[i].merge.rank != unused && (slots_[i].left != left || slots_[i].right != right)) {
    i = (i + 1) & (slots_.size() - 1);
  }
  return i;
}

void MergeTable::add(TokenId left, TokenId right, Merge merge) {
  slots_[slot_of(left, right)] = {left, right, merge};
}

const MergeTable::Merge* MergeTable::find(TokenId left, TokenId right) const noexcept {
  const Slot& slot = slots_[slot_of(left, right)];
  return slot.merge.rank == unused ? nullptr : &slot.merge;
}

void BytePairModel::cut(std::string_view word, std::vector<ModelToken>& result) const {
  if (ignore_merges) {
    if (const auto id = tokens->find(word)) {
      result.push_back({*id, 0, word.size()});
      return;
    }
  }
  std::vector<Symbol> symbols;
  const auto add = [&](TokenId id, std::size_t begin, std::size_t end) {
    const std::size_t place = symbols.size();
    if (place > 0) symbols.back().next = place;
    symbols.push_back({id, begin, end, place == 0 ? none : place - 1, none});
  };
  // As in Hugging Face's library, unknown characters wait for the next known one, even while the
  // bytes of others are entered.
  std::size_t unknown_begin = 0, unknown_end = 0;
  const auto add_unknown = [&] {
    if (unknown_begin < unknown_end) add(*unknown, unknown_begin, unknown_end);
    unknown_begin = unknown_end;
  };
  std::string letters;
  for_each_character(word, [&](char32_t, std::size_t begin, std::size_t end) {
    letters = begin > 0 ? continuing_prefix : "";
    letters += word.substr(begin, end - begin);
    if (end == word.size()) letters += end_suffix;
    if (const auto id = tokens->find(letters)) {
      add_unknown();
      return add(*id, begin, end);
    }
    const auto token_of = [&](char byte) { return bytes[static_cast<unsigned char>(byte)]; };
    if (byte_fallback && std::all_of(letters.begin(), letters.end(),
                                     [&](char byte) { return token_of(byte).has_value(); })) {
      for (const char byte : letters) add(*token_of(byte), begin, end);
      return;
    }
    if (!unknown) return;
    if (!fuse_unknown) add_unknown();
    if (unknown_begin == unknown_end) unknown_begin = begin;
    unknown_end = end;
  });
  add_unknown();
  merge_all(symbols, *merges);
  for (const Symbol& symbol : symbols) {
    if (!symbol.gone) result.push_back({symbol.id, symbol.begin, symbol.end});
  }
}

std::vector<std::optional<TokenId>> byte_tokens(const TokenTable& tokens) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::vector<std::optional<TokenId>> ids;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    ids.push_back(tokens.find("<0x" + std::string{digits[byte / 16], digits[byte % 16], '>'}));
  }
  return ids;
}

}  // namespace attn
