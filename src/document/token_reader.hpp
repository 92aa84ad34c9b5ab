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

/// Hidden states of a batch of token sequences. A document that gives one bare sequence has no
/// batch axis.
struct TokenStates {
  Tensor ids;        ///< int64 [B,L] or [L]
  Tensor embedded;   ///< float64 [B,L,E] or [L,E], after positions
  Tensor recovered;  ///< int64, like ids: nearest tokens of the states; absent unless wanted
  Tensor padding;    ///< bool [B,L]: true behind the end of a sequence; absent if there are no such
                     ///< places
  std::vector<std::vector<std::string>>
      labels;  ///< for each sample; empty if the tokens have no names
  std::vector<std::vector<std::string>> recovered_tokens;
  std::vector<std::string> warnings;  ///< of padding that is seen, and of joined words
  Tensor rows;  ///< embeddings before positions were added; absent if none are
};

/// Throws Error(input) at the place for more samples than a document may have.
void check_sample_count(std::size_t samples, const std::string& place);

/// Whether ids or tokens are one list per sample.
bool has_rows(const JsonValue& value);

/// The rows of whole_numbers(), of which an array alone is one.
std::vector<std::vector<std::int64_t>> rows_of(const Tensor& numbers);

/// Lists of ids, one a sample, of which a list alone is one. Throws Error(input) at the place for
/// anything else.
std::vector<std::vector<std::int64_t>> read_ids(const JsonValue& value, const std::string& place);

/// Reads "embedding" and "tokenizer", then the sequences, given as tokens, ids or text.
class TokenReader {
 public:
  /// Whether the document gives the sequence in one of the three ways. `prefix` is "" for the first
  /// sequence, "memory_" for the second.
  static bool gives(const JsonValue& root, const std::string& prefix) {
    return !key(root, prefix).empty();
  }

  /// The document's member with the sequence: "tokens", "memory_text"…; empty if there is none.
  static std::string key(const JsonValue& root, const std::string& prefix);

  /// Draws the embedding table unless it is given. Throws Error(input) for missing or wrong
  /// members.
  TokenReader(const JsonValue& root, DType dtype, TensorSource& tensors);

  /// The states of a sequence; while `tensors` is sketching only the shapes of ids and states.
  TokenStates read(const JsonValue& root, const std::string& prefix, TensorSource& tensors) const;

  /// Whether sinusoidal positions are added to rows of the table.
  bool adds_positions() const noexcept { return positions_; }

 private:
  void read_tokenizer(const JsonValue& tokenizer, TensorSource& tensors);
  void read_embedding(const JsonValue& embedding, DType dtype, TensorSource& tensors);
  void read_table(const JsonValue& embedding, DType dtype, TensorSource& tensors);
  std::optional<std::int64_t> read_special(const JsonValue& embedding, const char* key) const;
  std::string padding_doubt(const JsonValue& root, const std::string& prefix,
                            const TokenRows& rows) const;
  TokenRows read_rows(const JsonValue& value, const std::string& way, bool bare,
                      const std::string& at) const;

  std::optional<Vocabulary> vocabulary_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<std::int64_t> pad_, unknown_;
  Tensor table_;  ///< float64 [V,E]
  bool positions_ = false, recover_ = false;
};

/// The union of the document's padding, [Lk] or [B,Lk], and that of the tokens, [L] or [B,L],
/// behind `past` keys. A given padding that does not fit the tokens is returned unchanged and
/// refused with the mask.
Tensor united_padding(const Tensor& given, const Tensor& tokens, std::size_t past);

}  // namespace attn
