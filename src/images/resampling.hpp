#pragma once

#include <cstddef>

#include "images/pixels.hpp"

namespace attn {

/// Filters under the numbers that Pillow gives them.
enum class Resampling { nearest = 0, lanczos = 1, bilinear = 2, bicubic = 3, box = 4 };

/// Resamples in eight bits, exactly as Pillow: rows first, then columns, each rounded; filters are
/// widened where the picture shrinks. Throws Error(input) if the result does not fit the memory.
Pixels resampled(const Pixels& picture, std::size_t height, std::size_t width, Resampling filter);

/// The part of that size in the middle. Where the picture is smaller, black surrounds it.
Pixels centre_cropped(const Pixels& picture, std::size_t height, std::size_t width);

}  // namespace attn
