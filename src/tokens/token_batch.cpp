#include "tokens/token_batch.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "attn/error.hpp"

#include "support/memory_limit.hpp"
#include "support/translated.hpp"

namespace attn {

TokenRows token_rows(const std::vector<std::vector<std::string>>& words,
                     const Vocabulary& vocabulary, std::optional<std::int64_t> unknown,
                     const std::string& where) {
  TokenRows rows(words.size());
  for (std::size_t row = 0; row < words.size(); ++row) {
    rows[row].reserve(words[row].size());
    for (std::size_t column = 0; column < words[row].size(); ++column) {
      const std::string& word = words[row][column];
      std::optional<std::int64_t> id = vocabulary.find(word);
      if (!id) id = unknown;
      if (!id) {
        id = vocabulary.id(word, where + "/" + std::to_string(row) + "/" + std::to_string(column),
                           translated("or name an \"unknown\" token in the embedding"));
      }
      rows[row].push_back(*id);
    }
  }
  return rows;
}

Shape padded_shape(const TokenRows& rows, std::optional<std::int64_t> pad,
                   const std::string& where) {
  std::size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  if (longest == 0) {
    throw input_error(translated("there are no tokens"), where,
                      translated("give one row of tokens a sample"));
  }
  for (std::size_t row = 1; row < rows.size(); ++row) {
    if (pad || rows[row].size() == rows[row - 1].size()) continue;
    throw input_error(
        translated("rows of {1} and of {2} tokens, and no pad token", rows[row - 1].size(),
                   rows[row].size()),
        where + "/" + std::to_string(row),
        translated("name a \"pad\" token in the embedding, or give rows of one length"));
  }
  return {rows.size(), longest};
}

TokenBatch padded(const TokenRows& rows, std::optional<std::int64_t> pad,
                  const std::string& where) {
  const Shape shape = padded_shape(rows, pad, where);
  const std::size_t longest = shape[1];
  const bool ragged =
      std::ranges::any_of(rows, [&](const auto& row) { return row.size() < longest; });
  const std::size_t count = element_count(shape);
  check_memory(count, sizeof(std::int64_t) + sizeof(std::uint8_t),
               translated("the batch of token ids {1}", text(shape)), where);
  std::vector<std::int64_t> ids(count, pad.value_or(0));
  std::vector<std::uint8_t> padding(ragged ? count : 0, 1);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto start = static_cast<std::ptrdiff_t>(row * longest);
    std::copy(rows[row].begin(), rows[row].end(), ids.begin() + start);
    if (ragged) std::fill_n(padding.begin() + start, rows[row].size(), std::uint8_t{0});
  }
  TokenBatch batch{{shape, std::move(ids)}, {}};
  if (ragged) batch.padding = {shape, std::move(padding)};
  return batch;
}

}  // namespace attn
