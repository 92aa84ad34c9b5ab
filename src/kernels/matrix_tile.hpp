#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Whether the processor has matrix tiles (Intel's Advanced Matrix Extensions, for bfloat16) and
/// the system lets this process use them, for which it is asked once.
bool matrix_tiles_present() noexcept;

/// The tiles of the calling thread are set up while one of these is there.
class MatrixTiles {
 public:
  MatrixTiles() noexcept;
  ~MatrixTiles();
  MatrixTiles(const MatrixTiles&) = delete;
  MatrixTiles& operator=(const MatrixTiles&) = delete;
};

/// A float is the sum of three bfloat16: their 8 bits of significand each make its 24. A split tile
/// holds the first parts of 16 × 32 numbers, then the second and third ones: [3][16][32]. Of the
/// left operand of a product these are 16 rows; of the right one each row has two terms of 16
/// columns, [term / 2][column][term % 2].
constexpr std::size_t tile_side = 16, tile_depth = 32;
constexpr std::size_t tile_numbers = tile_side * tile_depth, split_tile_numbers = 3 * tile_numbers;

/// How many tiles make a row of so many terms.
constexpr std::size_t tile_steps(std::size_t count) {
  return (count + tile_depth - 1) / tile_depth;
}

/// The numbers of one part of a matrix that is filled up to whole pairs of tiles.
constexpr std::size_t tiled_numbers(std::size_t rows, std::size_t columns) {
  return tile_steps(rows) * tile_depth * tile_steps(columns) * tile_depth;
}

/// Two by two rows of tiles, one a step; the tiles of a row follow each other.
struct TileProduct {
  const std::uint16_t *left, *lower_left;
  const std::uint16_t *right, *next_right;
  std::size_t steps;
};

/// c = a b, or c += a b with `add`, for a of 32 rows and b of 32 columns: of the nine products of
/// parts the six largest (Henry, Tang and Heinecke 2019, section III). Second parts are below 2⁻⁷
/// and third ones below 2⁻¹⁵ of a number, so that what is left out is below 2⁻²¹ of a product, and
/// about 2⁻²⁴, a rounding of a float, on average. Parts below 2⁻¹²⁶ count as zeros.
void multiply_split_tiles(const TileProduct& product, float* c, std::size_t c_stride,
                          bool add) noexcept;

/// The same where b is in bfloat16 already: of its tiles there are the first parts alone, one after
/// the other. Nothing is left out then.
void multiply_split_by_bfloat16_tiles(const TileProduct& product, float* c, std::size_t c_stride,
                                      bool add) noexcept;

/// The same where both are in bfloat16, one part each: [16][32] a tile. Their products are exact
/// and summed in float.
void multiply_bfloat16_tiles(const TileProduct& product, float* c, std::size_t c_stride,
                             bool add) noexcept;

}  // namespace attn::kernels
