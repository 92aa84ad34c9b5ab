#pragma once

#include <cstddef>
#include <span>

#include "attn/file_access.hpp"

#include "images/pixels.hpp"

namespace attn {

/// Decodes a PNG or JPEG file upright, in the pixels that Pillow gives: by the EXIF orientation;
/// grey copied, palettes looked up, alpha left out, the high byte of 16-bit colours, 16-bit grey
/// cut off at 255. Throws Error(input) without a place for other and broken files, for CMYK and
/// animated pictures, and, before anything is decoded, for more pixels than `limits.elements` / 3.
Pixels decode_picture(std::span<const std::byte> file, const Limits& limits);

}  // namespace attn
