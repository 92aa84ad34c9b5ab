#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attn/file_access.hpp"

namespace attn {

/// A picture in eight bits: red, green and blue of each pixel, row by row.
struct Pixels {
  std::size_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;  ///< [height,width,3]
  /// Whether the file has 16-bit grey values beyond 255, which are cut off there.
  bool cut_off = false;
};

/// Fate of a picture's transparency: it is left out, or the picture is laid on white.
enum class Transparency { dropped, on_white };

/// Throws Error(input) without a place if a picture of that size is empty, or beyond the limits or
/// the memory: `what` that takes so many bytes for each of three numbers per pixel.
void check_pixels(const std::string& what, std::size_t height, std::size_t width,
                  std::size_t bytes_each, const Limits& limits);

/// Whether a file begins as PNG or JPEG files do.
bool looks_like_picture(std::span<const std::byte> file) noexcept;

/// Decodes a PNG or JPEG file upright, in the pixels that Pillow gives: by the EXIF orientation;
/// grey copied, palettes looked up, the high byte of 16-bit colours, 16-bit grey cut off at 255.
/// Throws Error(input) without a place for other and broken files, for CMYK and animated pictures,
/// and, before anything is decoded, for more pixels than `limits.elements` / 3.
Pixels decode_picture(std::span<const std::byte> file, const Limits& limits,
                      Transparency transparency = Transparency::dropped);

// Steps of decode_picture().

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
