#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/stages.hpp"

namespace attn {

/// A token that is found in the text as a whole, before the model cuts words.
struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool single_word = false;  ///< only between characters that are no word characters
  bool strip_left = false;   ///< takes the white space before it
  bool strip_right = false;  ///< takes the white space after it
  bool normalized = false;   ///< its normalized content is found in the normalized text
  bool special = false;
  std::string place{};  ///< its place in the file that lists it, for errors
};

/// Reads an entry of a list of added tokens; `place` stays empty. Flags may be absent unless the
/// entry has to be `complete`. Throws Error(input) at the place of a key.
AddedToken read_added_token(const Stage& entry, bool complete);

/// Gives each token that the vocabulary has its id there. Another whose `stated` id is free within
/// the vocabulary gets that, and all others get in order the ids after the vocabulary.
/// Throws Error(input) at its place if a token has a `stated` id that differs.
void number_added_tokens(std::vector<AddedToken>& added, const TokenTable& tokens,
                         const std::vector<std::optional<TokenId>>& stated);

/// All added tokens of a tokenizer.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Throws Error(input) for a token that normalization leaves empty, at its place, or at `where`
  /// if it has none.
  AddedTokens(std::vector<AddedToken> tokens, const std::vector<Normalizer>& normalizers,
              const std::string& where);
  AddedTokens(const AddedTokens&) = delete;
  AddedTokens& operator=(const AddedTokens&) = delete;
  AddedTokens(AddedTokens&&) = default;
  AddedTokens& operator=(AddedTokens&&) = default;

  /// Settles those parts of the text that are added tokens: of overlapping ones the leftmost, of
  /// those that begin at one place the longest. `normalized` selects the tokens that are found
  /// after normalization; `without_special` leaves special ones to be cut.
  void settle(SplitText& text, bool normalized, bool without_special) const;

  const std::vector<AddedToken>& tokens() const noexcept { return tokens_; }
  const AddedToken* find(std::string_view content) const;
  const AddedToken* find(TokenId id) const;

 private:
  struct Patterns {
    std::vector<std::string> texts;
    std::vector<std::size_t> owners;  // in `tokens_`
    PrefixIndex index;
  };

  void cut(const SplitText& text, const SplitText::Part& part, const Patterns& patterns,
           bool without_special, std::vector<SplitText::Part>& parts) const;

  std::vector<AddedToken> tokens_;
  Patterns raw_, normalized_;
  std::vector<std::size_t> by_id_, by_content_;  // in `tokens_`, sorted
};

}  // namespace attn
