#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/model_token.hpp"

namespace sentencepiece {
class SentencePieceProcessor;
}  // namespace sentencepiece

namespace attn {

/// A SentencePiece model (Kudo and Richardson 2018), Unigram or BPE with all that its file says of
/// white space, normalization and bytes: its own library cuts the texts. Copies share the model.
class SentencePieceModel {
 public:
  /// Throws Error(input) if the bytes are no such model, or more than 64 MiB.
  explicit SentencePieceModel(std::string_view bytes);

  /// Its pieces, by its own numbers.
  std::size_t size() const;
  const std::string& piece(std::size_t number) const;
  std::size_t unknown() const;

  /// The ids of the pieces in the vocabulary, by their numbers.
  void number_pieces(std::vector<TokenId> ids) { ids_ = std::move(ids); }

  /// Throws Error(input) if the text has more than 1 MiB.
  void cut(std::string_view text, std::vector<ModelToken>& result) const;

 private:
  std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor_;
  std::vector<TokenId> ids_;
};

}  // namespace attn
