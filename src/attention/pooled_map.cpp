#include "attention/pooled_map.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace attn {
namespace {

constexpr double lowest = -std::numeric_limits<double>::infinity();

}  // namespace

PooledMap::PooledMap(const Pooling& pooling, const Geometry& geometry, std::size_t most_queries)
    : largest_(pooling.reduction == Pooling::Reduction::max),
      queries_(geometry.queries),
      keys_(geometry.keys),
      query_bins_(std::min(pooling.size, geometry.queries)),
      key_bins_(std::min(pooling.size, geometry.keys)),
      maps_(geometry.batch * geometry.heads),
      leading_(geometry.row_shape()) {
  leading_.pop_back();
  for (std::size_t bin = 0; bin < query_bins_;) {
    const std::size_t first = first_query(bin), count = first_query(bin + 1) - first;
    if (count > most_queries) {
      const std::size_t parts = (count + most_queries - 1) / most_queries;
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t begin = count * part / parts, end = count * (part + 1) / parts;
        blocks_.push_back({first + begin, end - begin, bin, 1, rows_++});
      }
      ++bin;
      continue;
    }
    std::size_t bins = 1;
    while (bin + bins < query_bins_ && first_query(bin + bins + 1) - first <= most_queries) ++bins;
    blocks_.push_back({first, first_query(bin + bins) - first, bin, bins, rows_});
    rows_ += bins;
    bin += bins;
  }
  cells_.assign(maps_ * rows_ * key_bins_, largest_ ? lowest : 0.0);  // NOLINT: infinity stays
  seen_.assign(cells_.size(), 0);
}

double* PooledMap::cells(std::size_t map, std::size_t block) {
  return cells_.data() + (map * rows_ + blocks_[block].row) * key_bins_;
}

void PooledMap::add(std::size_t map, std::size_t block, const float* weights) {
  add_rows(map, block, weights);
}

void PooledMap::add(std::size_t map, std::size_t block, const double* weights) {
  add_rows(map, block, weights);
}

template <class T>
void PooledMap::add_rows(std::size_t map, std::size_t block, const T* weights) {
  const Block& rows = blocks_[block];
  double* const cells = this->cells(map, block);
  // 1. The rows of a bin together, key by key.
  std::vector<double> column(keys_);
  for (std::size_t i = 0; i < rows.count;) {
    const std::size_t bin = query_bin(rows.first + i);
    const std::size_t end = std::min(rows.count, first_query(bin + 1) - rows.first);
    std::copy_n(weights + i * keys_, keys_, column.begin());
    for (++i; i < end; ++i) {
      const T* const row = weights + i * keys_;
      if (largest_) {
        // NaN stays, whichever of the two it is.
        for (std::size_t j = 0; j < keys_; ++j) {
          if (!(row[j] <= column[j]) && !std::isnan(column[j])) column[j] = row[j];
        }
      } else {
        for (std::size_t j = 0; j < keys_; ++j) column[j] += row[j];
      }
    }
    // 2. Then the keys of a bin.
    double* const to = cells + (bin - rows.first_bin) * key_bins_;
    for (std::size_t c = 0, j = 0; c < key_bins_; ++c) {
      for (const std::size_t last = first_key(c + 1); j < last; ++j) {
        if (!largest_) {
          to[c] += column[j];
        } else if (!(column[j] <= to[c]) && !std::isnan(to[c])) {
          to[c] = column[j];
        }
      }
    }
  }
}

std::uint8_t* PooledMap::seen_row(std::size_t map, std::size_t block, std::size_t query) {
  const Block& rows = blocks_[block];
  const std::size_t bin = query_bin(rows.first + query) - rows.first_bin;
  return seen_.data() + (map * rows_ + rows.row + bin) * key_bins_;
}

void PooledMap::see(std::size_t map, std::size_t block, std::size_t query, std::size_t first,
                    std::size_t end) {
  if (first >= end) return;
  std::uint8_t* const row = seen_row(map, block, query);
  std::fill(row + key_bin(first), row + key_bin(end - 1) + 1, std::uint8_t{1});
}

void PooledMap::see(std::size_t map, std::size_t block, std::size_t query,
                    std::span<const std::uint8_t> seen) {
  std::uint8_t* const row = seen_row(map, block, query);
  for (std::size_t c = 0, j = 0; c < key_bins_; ++c) {
    for (const std::size_t last = first_key(c + 1); j < last; ++j) row[c] |= seen[j];
  }
}

Shape PooledMap::shape() const {
  Shape shape = leading_;
  shape.push_back(query_bins_);
  shape.push_back(key_bins_);
  return shape;
}

template <class T>
Tensor PooledMap::reduced() const {
  std::vector<T> result(maps_ * query_bins_ * key_bins_);
  std::vector<double> row(key_bins_);
  for (std::size_t map = 0; map < maps_; ++map) {
    for (auto block = blocks_.begin(); block != blocks_.end();) {
      const std::size_t bin = block->first_bin, bins = block->bins;
      for (std::size_t b = 0; b < bins; ++b) {
        // The blocks that hold a part of this bin follow one another.
        std::fill(row.begin(), row.end(), largest_ ? lowest : 0.0);  // NOLINT: infinity stays
        auto part = block;
        do {
          const double* const from = cells_.data() + (map * rows_ + part->row + b) * key_bins_;
          for (std::size_t c = 0; c < key_bins_; ++c) {
            if (!largest_) {
              row[c] += from[c];
            } else if (!(from[c] <= row[c]) && !std::isnan(row[c])) {
              row[c] = from[c];
            }
          }
          ++part;
        } while (bins == 1 && part != blocks_.end() && part->first_bin == bin);
        const std::size_t queries = first_query(bin + b + 1) - first_query(bin + b);
        T* const to = result.data() + (map * query_bins_ + bin + b) * key_bins_;
        for (std::size_t c = 0; c < key_bins_; ++c) {
          const std::size_t count = queries * (first_key(c + 1) - first_key(c));
          to[c] = static_cast<T>(largest_ ? row[c] : row[c] / static_cast<double>(count));
        }
      }
      do {
        ++block;
      } while (block != blocks_.end() && block->first_bin < bin + bins);
    }
  }
  return {shape(), std::move(result)};
}

Tensor PooledMap::weights(DType dtype) const {
  return dtype == DType::float64 ? reduced<double>() : reduced<float>();
}

Tensor PooledMap::allowed() const {
  std::vector<std::uint8_t> result(maps_ * query_bins_ * key_bins_, 0);
  for (std::size_t map = 0; map < maps_; ++map) {
    for (const Block& block : blocks_) {
      const std::uint8_t* const from = seen_.data() + (map * rows_ + block.row) * key_bins_;
      std::uint8_t* const to = result.data() + (map * query_bins_ + block.first_bin) * key_bins_;
      for (std::size_t c = 0; c < block.bins * key_bins_; ++c) to[c] |= from[c];
    }
  }
  return {shape(), std::move(result)};
}

}  // namespace attn
