#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "tokens/vocabulary.hpp"

namespace attn {

/// Token ids, one row a sample. Rows may differ in length.
using TokenRows = std::vector<std::vector<std::int64_t>>;

/// The ids of words that stand for tokens as they are. A word the vocabulary lacks becomes
/// `unknown`; without one it throws Error(input) naming the word and the nearest token at its JSON
/// pointer, `where`/row/column.
TokenRows token_rows(const std::vector<std::vector<std::string>>& words,
                     const Vocabulary& vocabulary, std::optional<std::int64_t> unknown,
                     const std::string& where);

/// Rows of one length.
struct TokenBatch {
  Tensor ids;      ///< int64 [B,L], L the longest row's length
  Tensor padding;  ///< bool [B,L], true where a row was filled up; absent if none was
};

/// The shape [B,L] of the batch that padded() makes, under its conditions.
Shape padded_shape(const TokenRows& rows, std::optional<std::int64_t> pad,
                   const std::string& where);

/// Fills the rows up with `pad` behind their last token. A pad id that the rows hold themselves is
/// no padding. Throws Error(input) at `where` if there is no row or no token at all, and at
/// `where`/row for the first row of another length than the one before if `pad` is absent.
TokenBatch padded(const TokenRows& rows, std::optional<std::int64_t> pad, const std::string& where);

}  // namespace attn
