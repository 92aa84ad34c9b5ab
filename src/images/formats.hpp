#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "attn/file_access.hpp"

#include "images/decoding.hpp"

namespace attn {

/// Pixels as they are stored, and the orientation 1 to 8 that EXIF gives them.
struct StoredPicture {
  Pixels pixels;
  int orientation = 1;
};

/// Throws Error(input) if the pixels of a file are none, or beyond the limits or the memory.
void check_stored_pixels(std::size_t height, std::size_t width, const Limits& limits);

StoredPicture decode_png(std::span<const std::byte> file, const Limits& limits,
                         Transparency transparency);
StoredPicture decode_jpeg(std::span<const std::byte> file, const Limits& limits);

/// The orientation in a block of EXIF (TIFF 6.0, tag 0x0112 of the first directory); 1 if it gives
/// none from 1 to 8.
int exif_orientation(std::span<const std::uint8_t> block);

}  // namespace attn
