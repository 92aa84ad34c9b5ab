#include "kernels/matrix_tile.hpp"

#if defined(__x86_64__) && defined(__linux__)

#include <atomic>

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace attn::kernels {
namespace {

// The processor's tile configuration (Intel's Software Developer's Manual, volume 1, section 18.2):
// eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, first_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);
constexpr TileShapes shapes;

bool ask_for_tiles() noexcept {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned int amx_bf16 = 1U << 22U, amx_tile = 1U << 24U;
  if ((d & amx_bf16) == 0 || (d & amx_tile) == 0) return false;
  // Linux saves tiles across threads only for processes that request it.
  constexpr long request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

__attribute__((target("amx-tile"))) void set_up() noexcept {
  _tile_loadconfig(&shapes);
}

__attribute__((target("amx-tile"))) void release() noexcept {
  _tile_release();
}

#define ATTN_TILES __attribute__((target("amx-tile,amx-bf16"), always_inline)) inline
constexpr int line = 64;
// Offsets of the second and third parts of a split tile.
constexpr std::size_t part2 = tile_numbers, part3 = 2 * tile_numbers;

// Loads tiles 0 to 3, two by two, from c, or clears them.
ATTN_TILES void load_sums(const float* c, std::size_t c_stride, long stride, bool add) noexcept {
  if (!add) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    return;
  }
  const float* const lower = c + tile_side * c_stride;
  _tile_loadd(0, c, stride);
  _tile_loadd(1, c + tile_side, stride);
  _tile_loadd(2, lower, stride);
  _tile_loadd(3, lower + tile_side, stride);
}

ATTN_TILES void store_sums(float* c, std::size_t c_stride, long stride) noexcept {
  float* const lower = c + tile_side * c_stride;
  _tile_stored(0, c, stride);
  _tile_stored(1, c + tile_side, stride);
  _tile_stored(2, lower, stride);
  _tile_stored(3, lower + tile_side, stride);
}

// Adds the products of new tiles of the left operand, 4 above 5, with those of the right one, 6
// beside 7, to the tiles 0 to 3. Each load stands right before the first product that needs it.
ATTN_TILES void multiply_left(const std::uint16_t* upper, const std::uint16_t* lower) noexcept {
  _tile_loadd(4, upper, line);
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_loadd(5, lower, line);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// Adds products like the above for new tiles of the right operand.
ATTN_TILES void multiply_right(const std::uint16_t* first, const std::uint16_t* second) noexcept {
  _tile_loadd(6, first, line);
  _tile_dpbf16ps(0, 4, 6);
  _tile_loadd(7, second, line);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// One step of a product: the products it adds, and the numbers of either operand it consumes. Small
// products come first; each load replaces a tile that the next products do not need.
struct SplitStep {
  static constexpr std::size_t left = split_tile_numbers, right = split_tile_numbers;
  ATTN_TILES static void add(const TileProduct& tiles) noexcept {
    multiply_left(tiles.left + part3, tiles.lower_left + part3);
    multiply_left(tiles.left + part2, tiles.lower_left + part2);
    multiply_right(tiles.right + part2, tiles.next_right + part2);
    multiply_left(tiles.left, tiles.lower_left);
    multiply_right(tiles.right + part3, tiles.next_right + part3);
    multiply_right(tiles.right, tiles.next_right);
  }
};
struct SplitByBfloat16Step {
  static constexpr std::size_t left = split_tile_numbers, right = tile_numbers;
  ATTN_TILES static void add(const TileProduct& tiles) noexcept {
    multiply_left(tiles.left + part3, tiles.lower_left + part3);
    multiply_left(tiles.left + part2, tiles.lower_left + part2);
    multiply_left(tiles.left, tiles.lower_left);
  }
};
struct Bfloat16Step {
  static constexpr std::size_t left = tile_numbers, right = tile_numbers;
  ATTN_TILES static void add(const TileProduct& tiles) noexcept {
    multiply_left(tiles.left, tiles.lower_left);
  }
};

// Compilers do not see the memory accesses of tile instructions; fences keep other accesses out.
template <class Step>
ATTN_TILES void multiply(TileProduct tiles, float* c, std::size_t c_stride, bool add) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const auto stride = static_cast<long>(c_stride * sizeof(float));
  load_sums(c, c_stride, stride, add);
  for (; tiles.steps > 0; --tiles.steps) {
    _tile_loadd(6, tiles.right, line);
    _tile_loadd(7, tiles.next_right, line);
    Step::add(tiles);
    if (tiles.ahead != nullptr) {
#pragma GCC unroll 16
      for (std::size_t row = 0; row < tile_side; ++row) {
        _mm_prefetch(tiles.ahead + row * tile_depth, _MM_HINT_T0);
      }
      tiles.ahead += tile_numbers;
    }
    tiles.left += Step::left;
    tiles.lower_left += Step::left;
    tiles.right += Step::right;
    tiles.next_right += Step::right;
  }
  store_sums(c, c_stride, stride);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

#undef ATTN_TILES

}  // namespace

bool matrix_tiles_present() noexcept {
  static const bool present = ask_for_tiles();
  return present;
}

MatrixTiles::MatrixTiles() noexcept {
  set_up();
}

MatrixTiles::~MatrixTiles() {
  release();
}

__attribute__((target("amx-tile,amx-bf16"))) void multiply_split_tiles(const TileProduct& product,
                                                                       float* c,
                                                                       std::size_t c_stride,
                                                                       bool add) noexcept {
  multiply<SplitStep>(product, c, c_stride, add);
}

__attribute__((target("amx-tile,amx-bf16"))) void multiply_split_by_bfloat16_tiles(
    const TileProduct& product, float* c, std::size_t c_stride, bool add) noexcept {
  multiply<SplitByBfloat16Step>(product, c, c_stride, add);
}

__attribute__((target("amx-tile,amx-bf16"))) void multiply_bfloat16_tiles(
    const TileProduct& product, float* c, std::size_t c_stride, bool add) noexcept {
  multiply<Bfloat16Step>(product, c, c_stride, add);
}

}  // namespace attn::kernels

#else

namespace attn::kernels {

bool matrix_tiles_present() noexcept {
  return false;
}
MatrixTiles::MatrixTiles() noexcept = default;
MatrixTiles::~MatrixTiles() = default;
void multiply_split_tiles(const TileProduct&, float*, std::size_t, bool) noexcept {}
void multiply_split_by_bfloat16_tiles(const TileProduct&, float*, std::size_t, bool) noexcept {}
void multiply_bfloat16_tiles(const TileProduct&, float*, std::size_t, bool) noexcept {}

}  // namespace attn::kernels

#endif
