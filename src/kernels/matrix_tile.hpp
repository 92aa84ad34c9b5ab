#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Whether the processor has matrix tiles (Intel's Advanced Matrix Extensions, for bfloat16) and
/// the system lets this process use them, for which it is asked once.
bool matrix_tiles_present() noexcept;

/// Sets up the tiles of the calling thread for its lifetime.
class MatrixTiles {
 public:
  MatrixTiles() noexcept;
  ~MatrixTiles();
  MatrixTiles(const MatrixTiles&) = delete;
  MatrixTiles& operator=(const MatrixTiles&) = delete;
};

/// A float is the sum of three bfloat16, whose significands of 8 bits make up its 24. A split tile
/// holds the first parts of 16 × 32 numbers, then the second and third ones: [3][16][32]. For the
/// left operand of a product these are 16 rows; for the right one each row holds two terms of 16
/// columns, [term / 2][column][term % 2].
constexpr std::size_t tile_side = 16, tile_depth = 32;
constexpr std::size_t tile_numbers = tile_side * tile_depth, split_tile_numbers = 3 * tile_numbers;

/// Tiles along a row of `count` terms.
constexpr std::size_t tile_steps(std::size_t count) {
  return (count + tile_depth - 1) / tile_depth;
}

/// Numbers of one part of a matrix [rows,columns] padded to whole pairs of tiles.
constexpr std::size_t tiled_numbers(std::size_t rows, std::size_t columns) {
  return tile_steps(rows) * tile_depth * tile_steps(columns) * tile_depth;
}

/// Two rows of tiles of either operand, `steps` tiles each, one after the other.
struct TileProduct {
  const std::uint16_t *left, *lower_left;
  const std::uint16_t *right, *next_right;
  std::size_t steps;
  const std::uint16_t* ahead = nullptr;  ///< fetched into the cache meanwhile, a tile per step
};

/// c = a b, or c += a b with `add`, for a of 32 rows and b of 32 columns: of the nine products of
/// parts the six largest (Henry, Tang and Heinecke 2019, section III). Second parts are below 2⁻⁷
/// and third ones below 2⁻¹⁵ of a number, so that the omitted products are below 2⁻²¹ of a product,
/// and about 2⁻²⁴, a rounding of a float, on average. Parts below 2⁻¹²⁶ count as zeros.
void multiply_split_tiles(const TileProduct& product, float* c, std::size_t c_stride,
                          bool add) noexcept;

/// multiply_split_tiles() for a b whose numbers are bfloat16: its tiles have only the first part.
/// Nothing is left out.
void multiply_split_by_bfloat16_tiles(const TileProduct& product, float* c, std::size_t c_stride,
                                      bool add) noexcept;

/// The product of tiles [16][32] of bfloat16, one part each. Products are exact and summed in
/// float.
void multiply_bfloat16_tiles(const TileProduct& product, float* c, std::size_t c_stride,
                             bool add) noexcept;

}  // namespace attn::kernels
