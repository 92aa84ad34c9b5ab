#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "document/tensor_source.hpp"
#include "io/json_value.hpp"
#include "tokens/embedding.hpp"
#include "tokens/tokenizer.hpp"
#include "tokens/vocabulary.hpp"

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
  static bool gives(const JsonValue& root, const std::string& prefix) {
    return !key(root, prefix).empty();
  }

  /// Which member of the document gives it: "tokens", "memory_text"…; empty if none does.
  static std::string key(const JsonValue& root, const std::string& prefix);

  /// Draws the embedding table if it is to be drawn. Throws Error(input) if what is needed is
  /// missing or wrong.
  TokenReader(const JsonValue& root, DType dtype, TensorSource& tensors);

  /// When `tensors` is sketching, the shapes of ids and states alone.
  TokenStates read(const JsonValue& root, const std::string& prefix, TensorSource& tensors) const;

  /// Whether sinusoidal positions are added to rows of the table.
  bool adds_positions() const noexcept { return positions_; }

 private:
  void read_tokenizer(const JsonValue& tokenizer, TensorSource& tensors);
  void read_embedding(const JsonValue& embedding, DType dtype, TensorSource& tensors);
  void read_table(const JsonValue& embedding, DType dtype, TensorSource& tensors);
  std::optional<std::int64_t> read_special(const JsonValue& embedding, const char* key) const;
  TokenRows read_rows(const JsonValue& value, const std::string& way, bool bare,
                      const std::string& at) const;

  std::optional<Vocabulary> vocabulary_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<std::int64_t> pad_, unknown_;
  Tensor table_;  ///< float64 [V,E]
  bool positions_ = false, recover_ = false;
};

/// Where the document's padding [Lk] or [B,Lk], or that of the tokens [L] or [B,L], says so. Before
/// the tokens stand `past` keys. A padding that does not fit the tokens' is given back as it is, to
/// be refused with the mask.
Tensor united_padding(const Tensor& given, const Tensor& tokens, std::size_t past);

}  // namespace attn
