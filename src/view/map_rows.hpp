#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/maps.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The map of one sample and head, row by row, with what a mask hides of it.
class MapRows {
 public:
  /// `maps` is [B,H,Lq,Lk], float32 or float64; `allowed` of as many axes, some of size 1,
  /// booleans, or absent: nothing is hidden. Shares the elements.
  MapRows(const Tensor& maps, const Tensor& allowed, std::size_t sample, std::size_t head);

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }

  /// Both have `columns()` places; hidden is 0 or 1.
  void read(std::size_t row, std::span<double> values, std::span<std::uint8_t> hidden) const;

  /// Its elements as they are stored.
  const Tensor& elements() const noexcept { return map_; }

 private:
  Tensor map_, allowed_;
  std::size_t rows_, columns_;
  const std::uint8_t* seen_ = nullptr;
  std::size_t row_stride_ = 0, column_stride_ = 0;
};

/// The smallest and the largest finite value that is not hidden; none if the first is larger.
struct FiniteRange {
  double least, most;

  FiniteRange();
  void add(double value) noexcept;
  void add(const FiniteRange& other) noexcept;
  bool empty() const noexcept { return least > most; }
};
FiniteRange finite_range(const MapRows& map);

/// A map reduced to cells that each hold the largest of theirs: queries and keys from
/// ⌊i·queries/rows⌋ up to ⌊(i+1)·queries/rows⌋. By distance from 0 if `diverging`; NaN is larger
/// than all, and a cell is hidden if all of its are.
struct ReducedMap {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;
  std::vector<std::uint8_t> hidden;  ///< 0 or 1
};
ReducedMap pooled(const MapRows& map, std::size_t rows, std::size_t columns, bool diverging);

/// Keys of the largest values of each query, largest first, that are neither hidden nor NaN.
struct StrongestKeys {
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::vector<std::uint32_t> keys;  ///< [Lq,count]
  std::vector<float> values;        ///< [Lq,count]
};
StrongestKeys strongest_keys(const MapRows& map, std::size_t count, bool diverging);

/// The tokens along an axis of a map, as the page shows them.
struct ShownTokens {
  std::vector<std::string> pieces, shown;
  std::vector<std::pair<std::size_t, std::size_t>> words;  ///< from the first piece up to the end
  std::vector<std::size_t> special;
};

/// All lists of tokens of a page, each once.
class TokenLists {
 public:
  struct Axes {
    std::size_t queries, keys;  ///< their numbers
  };
  /// Lists may be empty: not known. `special` is 0 or 1 for each token; empty = their letters
  /// decide.
  Axes add(const std::vector<std::string>& queries,
           const std::vector<std::uint8_t>& special_queries, const std::vector<std::string>& keys,
           const std::vector<std::uint8_t>& special_keys);

  const std::vector<ShownTokens>& all() const noexcept { return all_; }

 private:
  std::vector<ShownTokens> all_;
  /// By what makes them: pieces, what is special, how they are spelled.
  std::map<std::pair<std::vector<std::string>, std::vector<std::size_t>>, std::size_t> known_;
};

}  // namespace attn
