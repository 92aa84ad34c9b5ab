#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/aligned_text.hpp"

namespace attn {

/// SentencePiece's compiled table of what characters become (nmt_nfkc and the like): a double-array
/// trie over what is replaced, and the replacements.
class PrecompiledMap {
 public:
  /// `bytes`: the trie's size in four bytes, the trie, the replacements, each ended by a zero.
  /// Throws Error(input) at `where` if that does not fit.
  PrecompiledMap(std::string_view bytes, const std::string& where);

  /// For readers that follow the trie and look at nothing: throws Error(input) unless whatever they
  /// are given leads them to places within it and within the replacements.
  void check_every_way() const;

  /// Replaces whole grapheme clusters of fewer than six bytes where the table knows the beginning
  /// of one, and the characters of all others one by one, as Hugging Face's library does.
  void normalize(AlignedText& text) const;

 private:
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<std::uint32_t> trie_;
  std::string replacements_;
  std::string where_;
};

/// The bytes of Base64 text. Throws Error(input) at `where` if it is none.
std::string base64_decoded(std::string_view text, const std::string& where);

}  // namespace attn
