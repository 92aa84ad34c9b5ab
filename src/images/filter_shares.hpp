#pragma once

#include <cstddef>
#include <vector>

#include "images/resampling.hpp"

namespace attn {

/// The neighbours along an axis that one result is made of, and their shares, which sum to 1.
struct FilterShares {
  std::size_t first = 0;
  std::vector<double> shares;
};

/// Those of each of `to` results from `from` values, for every filter but the nearest value: the
/// filter around c = (i + ½)·from/to, widened by max(from/to, 1), as Pillow cuts and normalises it.
std::vector<FilterShares> filter_shares(std::size_t from, std::size_t to, Resampling filter);

}  // namespace attn
