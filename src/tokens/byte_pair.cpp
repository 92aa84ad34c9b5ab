#include <algorithm>
#include <array>
#include <bit>
#include <queue>

#include "attn/error.hpp"

#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tokens/characters.hpp"
#include "tokens/token_models.hpp"

namespace attn {
namespace {

// A token of a word being merged. Neighbours are linked; one that was merged into the token before
// it is `gone`.
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
  // 1. The ids of each merge: of its left half, its right half and the joined token.
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
  constexpr std::size_t block = 512 * at_once;  // merges per task
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
          place_of(i), translated("use the vocabulary and the merges as published together"));
    }
    result->add(left, right, {static_cast<std::uint32_t>(i), both});
  }
  return result;
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
  // Unknown characters wait for the next known one, even while bytes of others are entered, as in
  // Hugging Face's library.
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
