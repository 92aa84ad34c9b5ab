#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "tensor/torch_random.hpp"
#include "tokens/vocabulary.hpp"

namespace attn {

/// Token ids, one row per sample. Rows may differ in length.
using TokenRows = std::vector<std::vector<std::int64_t>>;

/// The ids of words that are tokens themselves. A word that the vocabulary lacks becomes `unknown`;
/// if that is absent, throws Error(input) naming the word and the nearest token at the word's JSON
/// pointer, `where`/row/column.
TokenRows token_rows(const std::vector<std::vector<std::string>>& words,
                     const Vocabulary& vocabulary, std::optional<std::int64_t> unknown,
                     const std::string& where);

/// Rows filled up to one length.
struct TokenBatch {
  Tensor ids;      ///< int64 [B,L], L the length of the longest row
  Tensor padding;  ///< bool [B,L], true at filled places; absent if there are none
};

/// The shape [B,L] of the batch that padded() makes, with the same errors.
Shape padded_shape(const TokenRows& rows, std::optional<std::int64_t> pad,
                   const std::string& where);

/// Fills the rows up with `pad` after their last token. A pad id within a row is not padding.
/// Throws Error(input) at `where` if there is no row or no token, and, if `pad` is absent, at
/// `where`/row for the first row whose length differs from that of the row before it.
TokenBatch padded(const TokenRows& rows, std::optional<std::int64_t> pad, const std::string& where);

/// The weight [V,E] of a new torch.nn.Embedding, float32: torch.randn for all rows, the pad token's
/// too. Throws Error(input) at `where` if a size is 0 or the table exceeds the memory.
Tensor torch_embedding_table(TorchRandom& random, std::size_t tokens, std::size_t dimension,
                             const std::string& where);

/// Throws Error(input) at `where` unless the table is float32 or float64 [V,E], with V = `tokens`
/// if that is known.
void check_embedding_table(const Tensor& table, std::optional<std::size_t> tokens,
                           const std::string& where);

/// Throws Error(input) for an id outside 0…V−1, V = `tokens`, at its JSON pointer
/// `where`/row/column.
void check_ids(const TokenRows& rows, std::size_t tokens, const std::string& where);

/// Rows of a checked table [V,E] for ids int64 [B,L]: [B,L,E] of the table's type, not scaled.
/// Throws Error(input) for an id outside 0…V−1, at its JSON pointer `where`/row/column.
Tensor embedded(const Tensor& table, const Tensor& ids, const std::string& where);

/// Sinusoidal positions (Vaswani et al. 2017, section 3.5) [L,E], float32 or float64:
/// PE[p,2i] = sin(p / 10000^(2i/E)), PE[p,2i+1] = cos(p / 10000^(2i/E)). With an odd E the last
/// column is a sine.
Tensor sinusoidal_positions(std::size_t length, std::size_t dimension, DType dtype);

/// Embeddings [B,L,E] plus the sinusoidal position of each of the L places.
Tensor with_sinusoidal_positions(const Tensor& embedded);

/// The row of the table [V,E] with the largest dot product with the row of each id, the first of
/// several: int64 [B,L] for ids int64 [B,L] in 0…V−1. NaN counts as largest, as for torch.argmax.
/// The result does not depend on the number of threads (0 = as many as the machine has).
Tensor recovered_ids(const Tensor& table, const Tensor& ids, std::size_t threads);

}  // namespace attn
