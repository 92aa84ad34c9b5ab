#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"

namespace attn {

/// The weights of an attention reduced to bins of queries × bins of keys while they are computed,
/// so that they are never held all at once. Query i of L belongs to bin ⌊i·N/L⌋ of N, keys
/// likewise; a sequence shorter than N has one bin per position.
///
/// The queries are cut into blocks. Each block is added once, in any order and by any thread; the
/// result does not depend on the order, because each block has its own cells.
class PooledMap {
 public:
  /// Consecutive queries: some whole bins, or a part of one.
  struct Block {
    std::size_t first, count;
    std::size_t first_bin, bins;
    std::size_t row;  ///< first row of the block's cells in the map
  };

  /// No block has more than `most_queries`.
  PooledMap(const Pooling& pooling, const Geometry& geometry, std::size_t most_queries);

  std::span<const Block> blocks() const { return blocks_; }
  std::size_t key_bins() const { return key_bins_; }
  /// The bin of a query or key, and the first position of a bin.
  std::size_t query_bin(std::size_t query) const { return query * query_bins_ / queries_; }
  std::size_t key_bin(std::size_t key) const { return key * key_bins_ / keys_; }
  std::size_t first_key(std::size_t bin) const { return (bin * keys_ + key_bins_ - 1) / key_bins_; }
  std::size_t first_query(std::size_t bin) const {
    return (bin * queries_ + query_bins_ - 1) / query_bins_;
  }

  /// The cells of one block of map `map` = sample · heads + head, [bins,key_bins()]: sums or
  /// largest weights so far, at first zeros or −∞. Kernels that reduce weights themselves write
  /// them directly.
  double* cells(std::size_t map, std::size_t block);

  /// Adds the weights of a block, [count,keys].
  void add(std::size_t map, std::size_t block, const float* weights);
  void add(std::size_t map, std::size_t block, const double* weights);

  /// Marks the keys [first, end), or those with seen[j] = 1, as seen by a query of the block.
  void see(std::size_t map, std::size_t block, std::size_t query, std::size_t first,
           std::size_t end);
  void see(std::size_t map, std::size_t block, std::size_t query,
           std::span<const std::uint8_t> seen);

  /// The mean or the largest weight of each cell, [..,Nq,Nk].
  Tensor weights(DType dtype) const;
  /// Whether any weight of a cell is seen, bool [..,Nq,Nk]. Needs see() for every query.
  Tensor allowed() const;

 private:
  template <class T>
  void add_rows(std::size_t map, std::size_t block, const T* weights);
  template <class T>
  Tensor reduced() const;
  std::uint8_t* seen_row(std::size_t map, std::size_t block, std::size_t query);
  Shape shape() const;

  bool largest_;
  std::size_t queries_, keys_, query_bins_, key_bins_, maps_;
  std::size_t rows_ = 0;  // rows of cells per map
  Shape leading_;
  std::vector<Block> blocks_;
  std::vector<double> cells_;
  std::vector<std::uint8_t> seen_;
};

}  // namespace attn
