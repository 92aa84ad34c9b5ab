#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

using TokenId = std::uint32_t;

/// Hundreds of thousands of tokens and their ids, both ways. All letters are in one block and the
/// hash table is flat, as filling it takes most of the time to load a large vocabulary.
class TokenTable {
 public:
  static constexpr TokenId none = 0xFFFFFFFF;

  void reserve(std::size_t tokens, std::size_t bytes);

  /// Returns false, and changes nothing, if the token is in the table.
  bool add(std::string_view token, TokenId id);

  /// One more than the largest id.
  std::size_t size() const noexcept { return places_.size(); }
  std::size_t count() const noexcept { return count_; }
  bool has(TokenId id) const noexcept { return id < size() && places_[id].length != absent; }

  std::optional<TokenId> find(std::string_view token) const noexcept;

  /// Writes the ids of several tokens, `none` for absent ones. Faster than one after the other: a
  /// large table is in no cache, and its places are fetched while other tokens are looked at.
  void find_all(std::span<const std::string_view> tokens, std::span<TokenId> ids) const;

  /// The token of an id that the table has.
  std::string_view token(TokenId id) const noexcept {
    return std::string_view(letters_).substr(places_[id].begin, places_[id].length);
  }

  /// Bytes of the longest token.
  std::size_t longest() const noexcept { return longest_; }

 private:
  static constexpr std::uint32_t absent = 0xFFFFFFFF;
  struct Place {
    std::uint32_t begin = 0, length = absent;  // in `letters_`
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id_plus_one = 0;
  };

  std::size_t slot_of(std::string_view token, std::uint32_t hash) const noexcept;
  void grow(std::size_t slots);

  std::string letters_;
  std::vector<Place> places_;  // by id
  std::vector<Slot> slots_;    // a power of two, at most half full
  std::size_t count_ = 0, longest_ = 0;
};

/// An index of texts that finds those with which another text begins.
class PrefixIndex {
 public:
  PrefixIndex() = default;
  /// Indexes texts that differ and outlive the index. An empty one is never found.
  explicit PrefixIndex(std::vector<std::string_view> texts);

  /// Calls found(i) for each texts[i] with which `text` begins, the shortest first.
  template <class Found>
  void for_each_prefix(std::string_view text, Found&& found) const;

 private:
  unsigned char byte(std::size_t place, std::size_t depth) const {
    return static_cast<unsigned char>(texts_[order_[place]][depth]);
  }

  std::vector<std::string_view> texts_;
  std::vector<std::uint32_t> order_;            // the texts sorted
  std::array<std::uint32_t, 257> firsts_ = {};  // where each first byte begins in `order_`
};

template <class Found>
void PrefixIndex::for_each_prefix(std::string_view text, Found&& found) const {
  if (text.empty()) return;
  const auto first = static_cast<unsigned char>(text[0]);
  std::size_t low = firsts_[first], high = firsts_[first + 1];
  for (std::size_t depth = 1; low < high; ++depth) {
    // The text that ends at this depth sorts before those that agree with it and go on.
    if (texts_[order_[low]].size() == depth) found(order_[low++]);
    if (depth == text.size()) return;
    const auto wanted = static_cast<unsigned char>(text[depth]);
    const auto first_with = [&](unsigned least) {
      std::size_t from = low, to = high;
      while (from < to) {
        const std::size_t middle = from + (to - from) / 2;
        if (byte(middle, depth) < least) {
          from = middle + 1;
        } else {
          to = middle;
        }
      }
      return from;
    };
    low = first_with(wanted);
    high = first_with(wanted + 1U);
  }
}

/// The tokens of a model, numbered from 0. Copies share the tokens.
class Vocabulary {
 public:
  /// The tokens in order of their ids. Throws Error(input) if there are none, if one is not UTF-8
  /// or given twice (naming both indices); `where` is the list's JSON pointer.
  static Vocabulary from_list(std::vector<std::string> tokens, const std::string& where);

  /// One token per line, the first with id 0, as Hugging Face's load_vocab reads a vocab.txt: lines
  /// end in \n, \r\n or \r, the last one may lack its end, blanks belong to the token and an empty
  /// line is the empty token. A byte order mark is skipped. Throws Error(input) if the text is
  /// empty or not UTF-8, or if a token is given twice (naming both lines, counted from 1); `where`
  /// names the file.
  static Vocabulary from_text(std::string_view text, const std::string& where);

  std::size_t size() const noexcept;

  /// The token of an id in 0…size() − 1; throws Error(internal) for any other.
  const std::string& token(std::int64_t id) const;

  std::optional<std::int64_t> find(std::string_view token) const;

  /// The id of a token that the input names. Throws Error(input) at `where` if the vocabulary lacks
  /// it; the help is the nearest known token followed by `advice`, if there is any.
  std::int64_t id(std::string_view token, std::string_view where,
                  std::string_view advice = {}) const;

 private:
  struct Index;

  explicit Vocabulary(std::shared_ptr<const Index> index) : index_(std::move(index)) {}

  std::shared_ptr<const Index> index_;
};

}  // namespace attn
