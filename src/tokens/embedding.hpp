#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "attn/tensor.hpp"

#include "tensor/torch_random.hpp"
#include "tokens/token_batch.hpp"

namespace attn {

/// The weight [V,E] of a new torch.nn.Embedding, float32: torch.randn, the pad token's row like any
/// other. Throws Error(input) at `where` if a size is 0 or the table exceeds the memory.
Tensor torch_embedding_table(TorchRandom& random, std::size_t tokens, std::size_t dimension,
                             const std::string& where);

/// Throws Error(input) at `where` unless the table is float32 or float64 [V,E], with V = `tokens`
/// if that is known.
void check_embedding_table(const Tensor& table, std::optional<std::size_t> tokens,
                           const std::string& where);

/// Throws Error(input) for an id outside 0…V−1, V = `tokens`, at its JSON pointer
/// `where`/row/column.
void check_ids(const TokenRows& rows, std::size_t tokens, const std::string& where);

/// The rows of a checked table [V,E] for ids int64 [B,L]: [B,L,E], of the table's type, not scaled.
/// Throws Error(input) for an id outside 0…V−1, at its JSON pointer `where`/row/column.
Tensor embedded(const Tensor& table, const Tensor& ids, const std::string& where);

/// Sinusoidal positions (Vaswani et al. 2017, section 3.5) [L,E], float32 or float64:
/// PE[p,2i] = sin(p / 10000^(2i/E)), PE[p,2i+1] = cos(p / 10000^(2i/E)). With an odd E the last
/// column is a sine.
Tensor sinusoidal_positions(std::size_t length, std::size_t dimension, DType dtype);

/// Embeddings [B,L,E] plus the sinusoidal position of each of the L places.
Tensor with_sinusoidal_positions(const Tensor& embedded);

/// For each of the ids int64 [B,L] in 0…V−1 the row of the table that has the largest dot product
/// with the id's own row, the first of several: int64 [B,L]. NaN counts as largest, as for
/// torch.argmax. The result is the same for any number of threads (0 = as many as the machine has).
Tensor recovered_ids(const Tensor& table, const Tensor& ids, std::size_t threads);

}  // namespace attn
