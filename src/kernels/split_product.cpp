#include <algorithm>
#include <array>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/split_product.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/cpu_target.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/split_rows_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_AVX3

// A panel has as many columns of y as two tiles.
constexpr std::size_t panel = split_panel;
static_assert(panel == 2 * tile_side);
static_assert(product_group % panel == 0 && split_row_block % panel == 0);

// Depths of sums in steps of 32 terms. So deep, two tiles of rows of x and the packed panels of a
// group stay in the second-level cache over the panels and the rows of a block; deeper sums are
// taken in parts.
constexpr std::size_t most_steps = 32, part_steps = 24, part_steps_of_bfloat16 = 48;

// Absolute values as whole numbers of the same order; infinities and NaN are the largest.
using Sizes = hn::Vec<Words>;
HWY_INLINE Sizes sizes_of(hn::Vec<Floats> numbers) {
  const Words words;
  return hn::And(hn::BitCast(words, numbers), hn::Set(words, 0x7FFFFFFFU));
}

constexpr std::uint32_t bits_of_power(int exponent) {
  return static_cast<std::uint32_t>(exponent + 127) << 23U;
}

// Whether three parts hold the numbers of a row with that largest size.
bool holds(std::uint32_t largest) {
  return largest == 0 || (largest >= bits_of_power(-40) && largest <= bits_of_power(60));
}

HWY_INLINE std::uint32_t largest_of(Sizes sizes) {
  const Words words;
  return hn::GetLane(hn::MaxOfLanes(words, sizes));
}

// Stores one row of pairs in each of the parts of a tile.
template <std::size_t parts>
HWY_INLINE void store_pairs(hn::Vec<Floats> first, hn::Vec<Floats> second, std::uint16_t* to) {
  if constexpr (parts == 1) {
    const Words words;
    hn::StoreU(hn::Or(hn::ShiftRight<16>(hn::BitCast(words, first)), hn::BitCast(words, second)),
               words, reinterpret_cast<std::uint32_t*>(to));
  } else {
    store_parts<parts>(first, second, to);
  }
}

// Tiles along a row that are split one after the other, so that all rows of these tiles stay in the
// first-level cache.
constexpr std::size_t piece_steps = 4;

// The largest sizes of 16 rows, 16 lanes each.
class LargestOfRows {
 public:
  void add(std::size_t row, Sizes sizes) {
    std::uint32_t* own = lanes_.data() + row * tile_side;
    hn::Store(hn::Max(hn::Load(Words(), own), sizes), Words(), own);
  }
  bool all_hold() const {
    bool all = true;
    for (std::size_t row = 0; row < tile_side; ++row) {
      all = all && holds(largest_of(hn::Load(Words(), lanes_.data() + row * tile_side)));
    }
    return all;
  }

 private:
  alignas(64) std::array<std::uint32_t, tile_side * tile_side> lanes_{};
};

// Splits rows `first` … `first` + 15 from column `from` on as left operand: `steps` tiles.
template <std::size_t parts>
HWY_INLINE void split_piece(const SplitSource& rows, std::size_t first, std::size_t from,
                            std::size_t steps, std::uint16_t* to, LargestOfRows& largest) {
  for (std::size_t i = 0; i < tile_side; ++i, to += tile_depth) {
    const float* row = first + i < rows.count ? rows.first + (first + i) * rows.stride : nullptr;
    Sizes sizes = hn::Zero(Words());
    for (std::size_t step = 0; step < steps; ++step) {
      const std::size_t k = from + step * tile_depth;
      // Pieces of rows are too short for the processor to foresee the next.
      if (row != nullptr) {
        hwy::Prefetch(row + k + piece_steps * tile_depth);
        hwy::Prefetch(row + k + piece_steps * tile_depth + tile_side);
      }
      const auto a = part_of_row(row, rows.width, k);
      const auto b = part_of_row(row, rows.width, k + tile_side);
      sizes = hn::Max(sizes, hn::Max(sizes_of(a), sizes_of(b)));
      store_pairs<parts>(a, b, to + step * parts * tile_numbers);
    }
    largest.add(i, sizes);
  }
}

// Calls split(first, from, steps, largest) for 16 rows and a piece of their columns at a time.
template <class Split>
bool by_pieces(const SplitSource& rows, const Split& split) {
  constexpr std::size_t piece = piece_steps * tile_depth;
  bool fits = true;
  for (std::size_t first = 0; first < rounded_up(rows.count, panel); first += tile_side) {
    LargestOfRows largest;
    for (std::size_t from = 0; from < rows.width; from += piece) {
      split(first, from, tile_steps(std::min(piece, rows.width - from)), largest);
    }
    fits = fits && largest.all_hold();
  }
  return fits;
}

bool split_x(const SplitSource& rows, std::uint16_t* to) {
  std::uint16_t* tiles = to;
  return by_pieces(rows, [&](std::size_t first, std::size_t from, std::size_t steps,
                             LargestOfRows& largest) HWY_ATTR {
    split_piece<3>(rows, first, from, steps, tiles, largest);
    tiles += steps * split_tile_numbers;
  });
}

// Columns of the right operand from rows: 16 rows become 16 columns of each part of each tile.
template <std::size_t parts>
bool split_rows_of_w(const SplitSource& rows, std::uint16_t* to) {
  alignas(64) std::array<std::uint16_t, piece_steps * parts * tile_numbers> tiles;
  return by_pieces(rows, [&](std::size_t first, std::size_t from, std::size_t steps,
                             LargestOfRows& largest) HWY_ATTR {
    split_piece<parts>(rows, first, from, steps, tiles.data(), largest);
    for (std::size_t tile = 0; tile < steps * parts; ++tile, to += tile_numbers) {
      transpose_tile(tiles.data() + tile * tile_numbers, to);
    }
  });
}

// The first line of a pair; the other one is tile_side lines behind it.
constexpr std::size_t line_of(std::size_t pair) {
  return pair / tile_side * tile_depth + pair % tile_side;
}

// split_rows_of_w() for rows that are stored side by side: pairs of lines are rows of the tiles.
template <std::size_t parts>
bool split_columns_of_w(const SplitSource& rows, std::uint16_t* to) {
  constexpr std::size_t numbers = parts * tile_numbers;
  // Lines are on other pages, which the processor does not foresee. Many lines ahead would drive
  // each other and the tiles out of the first-level cache.
  constexpr std::size_t pairs_ahead = 4;
  const Words words;
  const std::size_t steps = tile_steps(rows.width), end = rounded_up(rows.count, panel);
  alignas(64) std::array<std::uint32_t, product_group> largest{};
  const auto line = [&](std::size_t k) {
    return k < rows.width ? rows.first + k * rows.stride : nullptr;
  };
  for (std::size_t pair = 0; pair < steps * tile_side; ++pair) {
    const float *const a_line = line(line_of(pair)), *const b_line =
                                                         line(line_of(pair) + tile_side);
    const std::size_t next = line_of(pair + pairs_ahead);
    const float *const next_a = line(next), *const next_b = line(next + tile_side);
    std::uint16_t* const tile_row = to + pair / tile_side * numbers + pair % tile_side * tile_depth;
    for (std::size_t column = 0; column < end; column += tile_side) {
      if (next_a != nullptr) hwy::Prefetch(next_a + column);
      if (next_b != nullptr) hwy::Prefetch(next_b + column);
      const auto a = part_of_row(a_line, rows.count, column);
      const auto b = part_of_row(b_line, rows.count, column);
      std::uint32_t* own = largest.data() + column;
      hn::Store(hn::Max(hn::Load(words, own), hn::Max(sizes_of(a), sizes_of(b))), words, own);
      store_pairs<parts>(a, b, tile_row + column / tile_side * steps * numbers);
    }
  }
  return std::all_of(largest.begin(), largest.end(), holds);
}

template <std::size_t parts>
bool split_w(const SplitSource& rows, std::uint16_t* to) {
  return rows.side_by_side ? split_columns_of_w<parts>(rows, to) : split_rows_of_w<parts>(rows, to);
}

// Writes `columns` sums of rows of a pair of tiles, 32 wide, plus the bias.
void put_sums(const float* sums, std::size_t rows, std::size_t columns, const float* bias, float* y,
              std::size_t stride) {
  const Floats d;
  for (std::size_t row = 0; row < rows; ++row, sums += panel, y += stride) {
    for (std::size_t column = 0; column < columns; column += tile_side) {
      const std::size_t count = std::min(tile_side, columns - column);
      const auto mask = hn::FirstN(d, count);
      auto sum = hn::LoadU(d, sums + column);
      if (bias != nullptr) sum = hn::Add(sum, hn::MaskedLoad(mask, d, bias + column));
      if (count == tile_side) {
        hn::StoreU(sum, d, y + column);
      } else {
        hn::BlendedStore(sum, mask, d, y + column);
      }
    }
  }
}

void multiply(const SplitRowProduct& product) {
  const MatrixTiles tiles;
  const std::size_t steps = tile_steps(product.width);
  const std::size_t x_row = steps * split_tile_numbers;
  const bool three = product.parts == WeightParts::three;
  const std::size_t w_tile = three ? split_tile_numbers : tile_numbers, w_row = steps * w_tile;
  const auto multiply_tiles = three ? multiply_split_tiles : multiply_split_by_bfloat16_tiles;
  const std::size_t part = three ? part_steps : part_steps_of_bfloat16;
  const std::size_t depths = steps <= most_steps ? 1 : (steps + part - 1) / part;
  const std::size_t depth = (steps + depths - 1) / depths;
  const std::size_t panels = (product.columns + panel - 1) / panel;
  for (std::size_t first = 0; first < steps; first += depth) {
    const std::size_t count = std::min(depth, steps - first);
    for (std::size_t row = 0; row < product.rows; row += panel) {
      const std::uint16_t* left = product.x + row / tile_side * x_row + first * split_tile_numbers;
      for (std::size_t p = 0; p < panels; ++p) {
        const std::size_t column = p * panel;
        const std::uint16_t* right = product.w + 2 * p * w_row + first * w_tile;
        // Where the sums of the last depth are complete they are put in place at once.
        float* const sums =
            product.scratch + (depths == 1 ? 0 : (row / panel * panels + p) * panel * panel);
        TileProduct pair{left, left + x_row, right, right + w_row, count};
        if (row + panel < product.rows) pair.ahead = left + 2 * x_row + p * count * tile_numbers;
        multiply_tiles(pair, sums, panel, first > 0);
        if (first + count < steps) continue;
        put_sums(sums, std::min(panel, product.rows - row),
                 std::min(panel, product.columns - column),
                 product.bias == nullptr ? nullptr : product.bias + column,
                 product.y + row * product.y_stride + column, product.y_stride);
      }
    }
  }
}

#else

// Never called: splits_product() is false where these are chosen.
bool split_x(const SplitSource&, std::uint16_t*) {
  return false;
}
template <std::size_t>
bool split_w(const SplitSource&, std::uint16_t*) {
  return false;
}
void multiply(const SplitRowProduct&) {}

#endif

}  // namespace

bool split_x_of(const SplitSource& rows, std::uint16_t* to) {
  return split_x(rows, to);
}
bool split_w_of(const SplitSource& rows, WeightParts parts, std::uint16_t* to) {
  return parts == WeightParts::one ? split_w<1>(rows, to) : split_w<3>(rows, to);
}
void multiply_split(const SplitRowProduct& product) {
  multiply(product);
}

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(split_x_of);
ATTN_FOR_TARGETS(split_w_of);
ATTN_FOR_TARGETS(multiply_split);

bool splits_product(std::size_t rows, std::size_t width) noexcept {
  constexpr std::size_t least_rows = 48, least_width = 32;
  return uses_matrix_tiles() && rows >= least_rows && width >= least_width;
}

std::size_t split_x_count(std::size_t rows, std::size_t width) noexcept {
  return 3 * tiled_numbers(rows, width);
}

std::size_t split_w_count(std::size_t columns, std::size_t width, WeightParts parts) noexcept {
  return static_cast<std::size_t>(parts) * tiled_numbers(columns, width);
}

bool split_x_rows(const SplitSource& rows, std::uint16_t* to) noexcept {
  return ATTN_OF_TARGET(split_x_of)(rows, to);
}

bool split_w_rows(const SplitSource& rows, WeightParts parts, std::uint16_t* to) noexcept {
  return ATTN_OF_TARGET(split_w_of)(rows, parts, to);
}

void multiply_split_rows(const SplitRowProduct& product) noexcept {
  ATTN_OF_TARGET(multiply_split)(product);
}

}  // namespace attn::kernels
#endif
