#pragma once

#include <cstddef>
#include <mutex>

namespace attn::plot {

/// The memory that drawing takes beyond what C++ allocates. GLib and Fontconfig end the program
/// where there is none left, so that it must be known before. Where the system limits the memory of
/// the program, one figure is drawn at a time: as long as its room is there.
class DrawingRoom {
 public:
  /// Throws std::bad_alloc if fonts and glyphs might not find their memory.
  DrawingRoom();

  /// Throws std::bad_alloc if so many bytes, and what a figure needs besides, cannot be had now.
  static void check(std::size_t bytes);

 private:
  std::unique_lock<std::recursive_mutex> turn_;
};

}  // namespace attn::plot
