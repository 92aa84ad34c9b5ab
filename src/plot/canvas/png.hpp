#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plot/canvas/picture_stream.hpp"

namespace attn::plot {

/// A PNG file of a whole picture of `width` × `height` pixels that lie `stride` to a row. Opaque
/// pixels are 0xXXRRGGBB. `clear`: pixels let through what is below and are 0xAARRGGBB, the colours
/// multiplied by their alpha as Cairo has them. The file states its resolution in pixels per inch,
/// the program that made it and, if it is not empty, its provenance. The pixels are used up. Throws
/// std::bad_alloc.
std::string encode_png(std::span<std::uint32_t> pixels, std::size_t width, std::size_t height,
                       std::size_t stride, bool clear, double dpi,
                       std::string_view provenance = {});

/// A PNG file without any statement, for an image within another file: one byte a pixel if there
/// are at most 256 colours.
std::string encode_image(std::span<const std::uint32_t> pixels, std::size_t width,
                         std::size_t height);

/// A PNG file of opaque pixels that are given from top to bottom, some rows at a time, so that a
/// large picture never is in memory as a whole. It states what encode_png() states.
class PngFile {
 public:
  /// The bytes of memory for files of `width` pixels a row that are given up to `most_rows` rows at
  /// a time.
  static std::size_t bytes_for(std::size_t width, std::size_t most_rows);

  /// A file of `width` × `height` pixels. The memory is its own for as long as rows are added.
  PngFile(std::size_t width, std::size_t height, unsigned char* memory);

  /// Adds rows of `stride` pixels, of which the first `width` count.
  void add(std::span<const std::uint32_t> pixels, std::size_t rows, std::size_t stride);

  /// The whole file, after all rows.
  std::string finish(double dpi, std::string_view provenance = {});

 private:
  std::size_t width_, height_;
  std::size_t held_ = 0;  ///< bytes at the beginning of packed_ that the stream may look back to
  unsigned char* packed_;
  PictureStream stream_;
};

}  // namespace attn::plot
