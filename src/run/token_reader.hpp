#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "model/vocabulary.hpp"
#include "model/wordpiece.hpp"
#include "run/tensor_source.hpp"

namespace attn {

/// A batch of token sequences turned into hidden states. A document that gives one bare sequence
/// has no batch axis.
struct TokenStates {
  Tensor ids;        ///< int64 [B,L] or [L]
  Tensor embedded;   ///< float64 [B,L,E] or [L,E], after positions
  Tensor recovered;  ///< int64, like ids; absent unless asked for
  Tensor padding;    ///< bool [B,L] or absent: true where a sequence was filled up
  std::vector<std::vector<std::string>> labels;  ///< a sample; empty if the tokens have no names
  std::vector<std::vector<std::string>> recovered_tokens;
};

/// Reads `embedding` and `tokenizer`, then any of the sequences that are given as tokens, ids or
/// text.
class TokenReader {
 public:
  /// Whether the document gives the sequence ("" for the first, "memory_" for the second) in one of
  /// the three ways.
  static bool gives(const JsonValue& root, const std::string& prefix);

  /// Draws the embedding table if it is to be drawn. Throws Error(input) if what is needed is
  /// missing or wrong.
  TokenReader(const JsonValue& root, DType dtype, TensorSource& tensors);

  TokenStates read(const JsonValue& root, const std::string& prefix) const;

 private:
  void read_embedding(const JsonValue& embedding, DType dtype, TensorSource& tensors);

  std::optional<Vocabulary> vocabulary_;
  std::optional<WordPiece> tokenizer_;
  std::optional<std::int64_t> pad_, unknown_;
  Tensor table_;  ///< float64 [V,E]
  bool positions_ = false, recover_ = false;
};

}  // namespace attn
