#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Keys and values of caches that are kept in pages, in the order of "block_table".
class PagedKeys {
 public:
  /// `table` [M] or [B,M] of int64: the pages of each sample in order, -1 after the last one. If
  /// `sizes_only`, its entries are not read and the rows are shapes alone. Throws Error(input) at
  /// `place`, or below it for an entry.
  PagedKeys(const Tensor& table, std::string place, bool sizes_only);

  /// A sample whose last entry, not its only one, is page 0, with which some kernels fill rows up;
  /// nothing where there is none.
  std::optional<std::size_t> filled_with_page_0() const;

  /// Number of entries of each sample.
  std::size_t pages_of_sample() const { return table_.shape().back(); }

  /// The pages [N,P,D] of an input as rows [B,M·P,D], pages [N,P,H,D] as rows [B,H,M·P,D]. Rows of
  /// absent pages are zeros. Throws Error(input) at `place` for pages of another rank, and at the
  /// table for a page that there is not.
  Tensor gathered(const Tensor& pages, const std::string& name, const std::string& place);

  /// The gradient of an input's pages, in their shape, from that of its rows: each page has the sum
  /// over the places where it stands. Rows of inputs that were not gathered are returned.
  Tensor summed(const std::string& name, const Tensor& rows) const;

  /// Rows of absent pages [B,M·P], 1 where a row is padding, for pages of that many rows.
  Tensor padding(std::size_t rows_of_page) const;

 private:
  std::size_t samples() const { return table_.rank() == 1 ? 1 : table_.shape()[0]; }
  void check_order() const;

  Tensor table_;
  std::string place_;
  bool sizes_only_;
  std::vector<std::pair<std::string, Shape>> gathered_;  // inputs and the shapes of their pages
};

}  // namespace attn
