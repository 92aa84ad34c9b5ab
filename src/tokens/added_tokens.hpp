#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/aligned_text.hpp"
#include "tokens/normalizers.hpp"
#include "tokens/prefix_index.hpp"

namespace attn {

/// A token that is found in the text as a whole, before any model sees it.
struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool single_word = false;  ///< only where no word character is beside it
  bool strip_left = false;   ///< takes the white space before it
  bool strip_right = false;  ///< and behind it
  bool normalized = false;   ///< found in the normalized text, as it is once normalized itself
  bool special = false;
  std::string place{};  ///< where a file lists it, for errors
};

/// All added tokens of a tokenizer.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Throws Error(input) for a token of which normalization leaves nothing, at its place, or at
  /// `where` if it has none.
  AddedTokens(std::vector<AddedToken> tokens, const std::vector<Normalizer>& normalizers,
              const std::string& where);
  AddedTokens(const AddedTokens&) = delete;
  AddedTokens& operator=(const AddedTokens&) = delete;
  AddedTokens(AddedTokens&&) = default;
  AddedTokens& operator=(AddedTokens&&) = default;

  /// Settles those parts of the text that are added tokens: of overlapping ones the leftmost, of
  /// those that begin at one place the longest. `normalized`: those found after normalization.
  void settle(SplitText& text, bool normalized) const;

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
           std::vector<SplitText::Part>& parts) const;

  std::vector<AddedToken> tokens_;
  Patterns raw_, normalized_;
  std::vector<std::size_t> by_id_, by_content_;  // in `tokens_`, sorted
};

}  // namespace attn
