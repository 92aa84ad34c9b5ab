#include "plot/canvas/drawing_room.hpp"

#include <new>

#include "support/memory_limit.hpp"

namespace attn::plot {
namespace {

// Caches of fonts, shaped text, Cairo's paths and the stacks of threads: measured at less than
// two thirds of this for figures full of labels in several scripts.
constexpr std::size_t figure_bytes = std::size_t{96} << 20U;

std::recursive_mutex& turn() {
  static std::recursive_mutex mutex;
  return mutex;
}

}  // namespace

DrawingRoom::DrawingRoom() {
  if (!address_space_limit()) return;
  turn_ = std::unique_lock(turn());
  check(0);
}

void DrawingRoom::check(std::size_t bytes) {
  if (address_space_limit() && !can_be_mapped(figure_bytes + bytes)) throw std::bad_alloc();
}

}  // namespace attn::plot
