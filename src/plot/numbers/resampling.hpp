#pragma once

#include <cstddef>
#include <vector>

namespace attn::plot {

/// How cells become pixels along an axis.
enum class Resampling {
  nearest,  ///< a pixel shows the cell under its middle
  mean,     ///< a pixel shows the mean of the cells under it, by the share of it that they cover
  hann,  ///< a pixel shows cells near it by a raised cosine, one cell or one pixel wide, whichever
         ///< is wider
};

/// Cells with sharp edges: the nearest one where there are as many pixels, else their mean.
constexpr Resampling sharp_resampling(std::size_t cells, std::size_t pixels) {
  return pixels >= cells ? Resampling::nearest : Resampling::mean;
}

/// The cells that a pixel shows and their shares, which sum to 1.
struct PixelShares {
  std::size_t first = 0;
  std::vector<double> shares;
};

/// For each of `pixels` pixels that `cells` cells are spread over.
std::vector<PixelShares> pixel_shares(std::size_t cells, std::size_t pixels, Resampling resampling);

}  // namespace attn::plot
