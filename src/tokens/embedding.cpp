#include "tokens/embedding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/memory.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

template <class T>
Tensor positions_of(std::size_t length, std::size_t dimension) {
  std::vector<T> result(length * dimension);
  for (std::size_t column = 0; column < dimension; ++column) {
    const auto pair = static_cast<double>(column - column % 2);
    const double wavelength = std::pow(10000.0, pair / static_cast<double>(dimension));
    for (std::size_t position = 0; position < length; ++position) {
      const double angle = static_cast<double>(position) / wavelength;
      result[position * dimension + column] =
          static_cast<T>(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return {{length, dimension}, std::move(result)};
}

// Eight sums side by side, so that the compiler may use vectors without reordering additions.
template <class T>
double dot_product(const T* a, const T* b, std::size_t count) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      sums[lane] += static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    }
  }
  double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

template <class T>
std::int64_t most_similar_row(std::span<const T> table, std::size_t dimension, std::int64_t id) {
  const T* own = table.data() + static_cast<std::size_t>(id) * dimension;
  const std::size_t rows = table.size() / dimension;
  std::size_t best = 0;
  double largest = dot_product(own, table.data(), dimension);
  for (std::size_t row = 1; row < rows && !std::isnan(largest); ++row) {
    const double product = dot_product(own, table.data() + row * dimension, dimension);
    if (product > largest || std::isnan(product)) {
      largest = product;
      best = row;
    }
  }
  return static_cast<std::int64_t>(best);
}

void check_id(std::int64_t id, std::size_t tokens, const std::string& where, std::size_t row,
              std::size_t column) {
  if (id >= 0 && static_cast<std::uint64_t>(id) < tokens) return;
  throw input_error(translated("token id {1} is not in 0…{2}", id, tokens - 1),
                    where + "/" + std::to_string(row) + "/" + std::to_string(column),
                    translated("ids number the rows of the embedding table from 0"));
}

}  // namespace

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
                      translated("give one row of tokens per sample"));
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

Tensor torch_embedding_table(TorchRandom& random, std::size_t tokens, std::size_t dimension,
                             const std::string& where) {
  Shape shape{tokens, dimension};
  if (tokens == 0 || dimension == 0) {
    throw input_error(translated("the embedding table {1} is empty", text(shape)), where,
                      translated("give at least one token and a dimension of at least 1"));
  }
  check_memory(element_count(shape), sizeof(float),
               translated("the embedding table {1}", text(shape)), where);
  return torch_randn(random, std::move(shape));
}

void check_embedding_table(const Tensor& table, std::optional<std::size_t> tokens,
                           const std::string& where) {
  if (table.rank() != 2 || table.size() == 0) {
    throw input_error(translated("the embedding table has shape {1}", text(table.shape())), where,
                      translated("give a table [V,E]: one row per token"));
  }
  if (table.dtype() != DType::float32 && table.dtype() != DType::float64) {
    throw input_error(translated("the embedding table holds {1}", name(table.dtype())), where,
                      translated("give it as float32 or float64"));
  }
  if (tokens && table.shape()[0] != *tokens) {
    throw input_error(translated("the embedding table {1} has {2} rows for {3} tokens",
                                 text(table.shape()), table.shape()[0], *tokens),
                      where, translated("give one row per token of the vocabulary"));
  }
}

void check_ids(const TokenRows& rows, std::size_t tokens, const std::string& where) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < rows[row].size(); ++i)
      check_id(rows[row][i], tokens, where, row, i);
  }
}

Tensor embedded(const Tensor& table, const Tensor& ids, const std::string& where) {
  const std::size_t tokens = table.shape()[0], length = ids.shape()[1];
  const std::span<const std::int64_t> numbers = ids.values<std::int64_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    check_id(numbers[i], tokens, where, i / length, i % length);
  const Shape shape{ids.shape()[0], length, table.shape()[1]};
  check_memory(element_count(shape), size_of(table.dtype()),
               translated("the embeddings {1}", text(shape)), where);
  const std::vector<std::size_t> rows(numbers.begin(), numbers.end());
  return picked(table, rows).reshaped(shape);
}

Tensor sinusoidal_positions(std::size_t length, std::size_t dimension, DType dtype) {
  return with_float_type(dtype, [&]<class T>() { return positions_of<T>(length, dimension); });
}

Tensor with_sinusoidal_positions(const Tensor& embedded) {
  const Tensor positions =
      sinusoidal_positions(embedded.shape()[1], embedded.shape()[2], embedded.dtype());
  return sum(embedded, positions);
}

Tensor recovered_ids(const Tensor& table, const Tensor& ids, std::size_t threads) {
  const std::span<const std::int64_t> numbers = ids.values<std::int64_t>();
  // The row of an id does not depend on its place, so each id is looked up once.
  std::vector<std::int64_t> distinct(numbers.begin(), numbers.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());

  std::vector<std::int64_t> answers(distinct.size());
  const std::size_t dimension = table.shape()[1];
  parallel_for(distinct.size(), threads, [&](std::size_t i) {
    answers[i] = with_floats(table, [&](auto numbers_of_rows) {
      return most_similar_row(numbers_of_rows, dimension, distinct[i]);
    });
  });

  std::vector<std::int64_t> result;
  result.reserve(numbers.size());
  for (const std::int64_t id : numbers) {
    const auto found = std::lower_bound(distinct.begin(), distinct.end(), id);
    result.push_back(answers[static_cast<std::size_t>(found - distinct.begin())]);
  }
  return {ids.shape(), std::move(result)};
}

}  // namespace attn
