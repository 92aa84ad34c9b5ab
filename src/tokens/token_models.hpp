#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tokens/vocabulary.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}  // namespace sentencepiece

// Models that cut words into tokens. Each has cut(word, result), which appends the word's tokens in
// order; a word is UTF-8 and not empty. unknown_id() is the id of the token that replaces unknown
// pieces, if there is one.

namespace attn {

/// A token that a model cut from a word, and the bytes [begin, end) of the word that it covers.
struct ModelToken {
  TokenId id;
  std::size_t begin, end;
};

/// The longest pieces in the vocabulary from left to right, all but the first with `prefix` before
/// them (Wu et al. 2016; Devlin et al. 2018). A word without such pieces, or of more than
/// `most_characters`, is unknown.
struct WordPieceModel {
  std::shared_ptr<const TokenTable> tokens;
  std::string unknown = "[UNK]", prefix = "##";
  std::size_t most_characters = 100;

  std::optional<TokenId> unknown_id() const { return tokens->find(unknown); }

  /// Throws Error(input) for an unknown word if the vocabulary lacks the unknown token.
  void cut(std::string_view word, std::vector<ModelToken>& result) const;
};

/// Whole words; all others are unknown.
struct WordLevelModel {
  std::shared_ptr<const TokenTable> tokens;
  std::string unknown = "<unk>";

  std::optional<TokenId> unknown_id() const { return tokens->find(unknown); }

  /// Throws Error(input) for an unknown word if the vocabulary lacks the unknown token.
  void cut(std::string_view word, std::vector<ModelToken>& result) const;
};

/// Merges of pairs of tokens and their ranks: a flat hash table, as large vocabularies have
/// hundreds of thousands.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;  // lower ranks are merged first
    TokenId id;          // of the token that the two become
  };

  explicit MergeTable(std::size_t merges);

  /// Enters a pair. One that is there already gets the new rank.
  void add(TokenId left, TokenId right, Merge merge);
  /// Fetches the place of a pair that will be added soon.
  void expect(TokenId left, TokenId right) const noexcept {
    __builtin_prefetch(&slots_[first_slot_of(left, right)]);
  }
  /// The merge of a pair; null if there is none.
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

/// The merges of a file in the order of their ranks, as texts.
class MergeList {
 public:
  void add(std::string_view left, std::string_view right);
  /// Adds a line "left right"; returns false, and adds nothing, unless it has exactly one space.
  bool add_line(std::string_view both);

  /// The table of all merges. `prefix` of a right half is dropped where the two are joined. Throws
  /// Error(input) at place_of(index) if a half or the joined token is not among the tokens.
  std::shared_ptr<const MergeTable> table(
      const TokenTable& tokens, std::string_view prefix,
      const std::function<std::string(std::size_t)>& place_of) const;

 private:
  struct Ends {
    std::size_t left, right;  // in `letters_`
  };
  std::string letters_;
  std::vector<Ends> ends_;
};

/// Byte-pair encoding (Sennrich et al. 2016): a word's characters, or the bytes of those that are
/// no tokens, are merged pair by pair in the order of the merges, the leftmost of equal rank first.
struct BytePairModel {
  std::shared_ptr<const TokenTable> tokens;
  std::shared_ptr<const MergeTable> merges;
  std::optional<TokenId> unknown;  ///< characters without a token are dropped if absent
  bool fuse_unknown = false;       ///< neighbouring unknown characters are one token
  bool byte_fallback = false;      ///< unknown characters become tokens of bytes such as <0xE2>
  bool ignore_merges = false;      ///< a word that is a token is not cut
  std::string continuing_prefix, end_suffix;
  std::vector<std::optional<TokenId>> bytes;  ///< ids of the tokens <0x00>…<0xFF>

  std::optional<TokenId> unknown_id() const { return unknown; }

  void cut(std::string_view word, std::vector<ModelToken>& result) const;
};

/// The ids of the tokens <0x00>…<0xFF>.
std::vector<std::optional<TokenId>> byte_tokens(const TokenTable& tokens);

/// The likeliest of all ways to compose a word (Kudo 2018): the one with the greatest sum of the
/// tokens' scores, found by Viterbi's algorithm. A character that is no token may be unknown, at
/// the lowest score less 10; neighbouring unknown characters are one token, or the tokens of their
/// bytes.
struct UnigramModel {
  std::shared_ptr<const TokenTable> tokens;
  std::vector<double> scores;  ///< by id
  PrefixIndex index;           ///< of all tokens, by id
  std::optional<TokenId> unknown;
  bool byte_fallback = false;
  std::vector<std::optional<TokenId>> bytes;  ///< ids of the tokens <0x00>…<0xFF>
  double unknown_score = 0;

  UnigramModel(std::shared_ptr<const TokenTable> all, std::vector<double> all_scores,
               std::optional<TokenId> unknown_token, bool fallback);

  std::optional<TokenId> unknown_id() const { return unknown; }

  /// Throws Error(input) for an unknown character if there is no unknown token.
  void cut(std::string_view word, std::vector<ModelToken>& result) const;
};

/// A SentencePiece model (Kudo and Richardson 2018), Unigram or BPE with its file's white space,
/// normalization and bytes: its own library cuts the texts. Copies share the model.
class SentencePieceModel {
 public:
  /// Throws Error(input) if the bytes are no such model, or more than 64 MiB.
  /// With `no_prefix` no space is put before a text, whatever the file says.
  explicit SentencePieceModel(std::string_view bytes, bool no_prefix = false);

  /// The pieces, by the model's own numbers.
  std::size_t size() const;
  const std::string& piece(std::size_t number) const;
  std::size_t unknown() const noexcept { return unknown_; }

  /// Sets the ids of the pieces in the vocabulary, by their numbers.
  void number_pieces(std::vector<TokenId> ids) { ids_ = std::move(ids); }

  std::optional<TokenId> unknown_id() const { return ids_[unknown()]; }

  /// Throws Error(input) if the text has more than 1 MiB, or than the library cuts in little time.
  void cut(std::string_view text, std::vector<ModelToken>& result) const;

 private:
  std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor_;
  std::size_t size_ = 0;          ///< pieces of the file; the library may have got those of bytes
  std::size_t unknown_ = 0;       ///< number of the piece for unknown characters
  bool joins_by_copies_ = false;  ///< whether the library joins unknown characters
  std::vector<TokenId> ids_;
};

using Model =
    std::variant<WordPieceModel, WordLevelModel, BytePairModel, UnigramModel, SentencePieceModel>;

}  // namespace attn
