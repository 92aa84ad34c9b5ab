#pragma once

#include <cstddef>
#include <vector>

#include "images/decoding.hpp"

namespace attn {

/// Filters under the numbers that Pillow gives them.
enum class Resampling { nearest = 0, lanczos = 1, bilinear = 2, bicubic = 3, box = 4 };

/// Resamples in eight bits, exactly as Pillow: rows first, then columns, each rounded; filters are
/// widened where the picture shrinks. Throws Error(input) without a place, before anything is made,
/// for a result, or a step to it, beyond the limits or the memory.
Pixels resampled(const Pixels& picture, std::size_t height, std::size_t width, Resampling filter,
                 const Limits& limits);

/// The part of that size in the middle. Where the picture is smaller, black surrounds it. Throws as
/// resampled() does.
Pixels centre_cropped(const Pixels& picture, std::size_t height, std::size_t width,
                      const Limits& limits);

/// The neighbours along an axis that one result is made of, and their shares, which sum to 1.
struct FilterShares {
  std::size_t first = 0;
  std::vector<double> shares;
};

/// Those of result `i` of `to` results from `from` values, for every filter but the nearest value:
/// the filter around c = (i + ½)·from/to, widened by max(from/to, 1), as Pillow cuts and normalises
/// it. Throws Error(input) if they do not fit the memory.
FilterShares filter_shares(std::size_t from, std::size_t to, std::size_t i, Resampling filter);

}  // namespace attn
