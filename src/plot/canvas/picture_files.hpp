#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pango/pango.h>

#include "attn/version.hpp"

#include "plot/colour/colour.hpp"
#include "plot/text/text.hpp"

namespace attn::plot {

/// What a file says of itself: SVG and PDF all of it, PNG its provenance. Empty texts are left out.
struct FileText {
  std::string title, description, provenance;
};

/// The program that made it.
inline constexpr const char* maker = "attn-cli " ATTN_VERSION;

/// How the bytes of a picture lie: `pixel` bytes from one pixel to the next, `row` bytes from one
/// row to the next, the byte that names a row's filter included.
struct PictureRows {
  std::size_t pixel, row;
};

/// The zlib stream (RFC 1950, RFC 1951) of a figure's filtered rows, which may come in parts. It is
/// made for flat areas and slanted lines: a byte is looked for in the row above, there or a pixel
/// beside, and one pixel before, and only where little is found among what was seen elsewhere.
/// Equal bytes in equal parts give equal streams.
class PictureStream {
 public:
  /// How many bytes before a byte those may begin that it repeats.
  static constexpr std::size_t reach = 32768;

  explicit PictureStream(const PictureRows& rows);
  ~PictureStream();
  PictureStream(const PictureStream&) = delete;
  PictureStream& operator=(const PictureStream&) = delete;

  /// Adds bytes. Before them in memory stand the last `reach` that were added, or all.
  void add(std::span<const unsigned char> bytes);

  /// Adds bytes `count` times that were the last to be added, at most `reach`.
  void repeat(std::span<const unsigned char> bytes, std::size_t count);

  /// The whole stream. Nothing can be added after it.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The stream of all rows at once.
std::string picture_stream(std::span<const unsigned char> bytes, const PictureRows& rows);

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

/// What an SVG file holds beside the drawing that Cairo writes, in which letters are outlines and
/// the pixels of images are blurred.
class SvgFile {
 public:
  /// What everything lies on; none until this is called.
  void set_paper(Colour colour) { paper_ = colour; }

  /// The bytes of a PNG file, spread over a box with sharp pixels.
  void add_image(std::string_view png, const Box& box);

  /// A line of text. It names the fonts that it was set in and the width that it took, so that
  /// other fonts take no more. `origin` is where the baseline begins; anticlockwise degrees turn
  /// the line about it.
  void add_text(PangoLayout* line, double width, Point origin, double degrees, Colour colour);

  /// Cairo's file with the paper and the images under its drawing, the texts over it, and what the
  /// file says of itself.
  std::string finished(std::string_view drawing, const FileText& words) const;

 private:
  std::string text_group() const;

  std::optional<Colour> paper_;
  std::string images_, texts_;
  std::vector<std::string> families_;
};

}  // namespace attn::plot
