#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace attn::plot {

/// How the bytes of a picture lie: `pixel` bytes from one pixel to the next, `row` bytes from one
/// row to the next, the byte that names a row's filter included.
struct PictureRows {
  std::size_t pixel, row;
};

/// The zlib stream (RFC 1950, RFC 1951) of a figure's filtered rows. It is made for flat areas: a
/// byte is looked for one pixel before and in the row above, there or a pixel beside, and only
/// where nothing is found among what was seen elsewhere. Equal bytes give equal streams.
std::string picture_stream(std::span<const unsigned char> bytes, const PictureRows& rows);

}  // namespace attn::plot
