#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/version.hpp"

#include "plot/colour/colour.hpp"
#include "plot/libraries/drawing_libraries.hpp"
#include "plot/text/text.hpp"

namespace attn::plot {

/// Words in a file's metadata: SVG and PDF hold all, PNG the provenance and, where there is a
/// caption, all. Empty ones are left out.
struct FileText {
  std::string title, description, provenance, caption;
};

/// Name and version of the program, for metadata.
inline constexpr const char* maker = "attn-cli " ATTN_VERSION;

/// Distances in the bytes of a picture: from one pixel to the next, and from one row to the next
/// with the byte that names a row's filter.
struct PictureRows {
  std::size_t pixel, row;
};

/// A zlib stream (RFC 1950, RFC 1951) of a figure's filtered rows, which may come in parts. It is
/// made for flat areas and slanted lines: repetitions are looked for in the row above, there or a
/// pixel beside, and one pixel before, and only where little is found among bytes seen elsewhere.
/// Equal bytes in equal parts give equal streams.
class PictureStream {
 public:
  /// The farthest that a repetition looks back, in bytes.
  static constexpr std::size_t reach = 32768;

  explicit PictureStream(const PictureRows& rows);
  ~PictureStream();
  PictureStream(const PictureStream&) = delete;
  PictureStream& operator=(const PictureStream&) = delete;

  /// Adds bytes. The last `reach` bytes added before them, or all, must precede them in memory.
  void add(std::span<const unsigned char> bytes);

  /// Adds `count` copies of the last bytes that were added, at most `reach` of them.
  void repeat(std::span<const unsigned char> bytes, std::size_t count);

  /// The whole stream; nothing may be added after this call.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The zlib stream of all rows of a picture.
std::string picture_stream(std::span<const unsigned char> bytes, const PictureRows& rows);

/// A PNG file of a whole picture of `width` × `height` pixels that lie `stride` to a row. Opaque
/// pixels are 0xXXRRGGBB. `clear`: pixels let through what is below and are 0xAARRGGBB, the colours
/// multiplied by their alpha as Cairo has them. The file states its resolution in pixels per inch,
/// the program that made it, and words. The pixels are used up. Throws std::bad_alloc.
std::string encode_png(std::span<std::uint32_t> pixels, std::size_t width, std::size_t height,
                       std::size_t stride, bool clear, double dpi, const FileText& words = {});

/// A PNG file without metadata, for an image of `width` × `height` pixels 0xXXRRGGBB within another
/// file: one byte a pixel if there are at most 256 colours.
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
  std::string finish(double dpi, const FileText& words = {});

 private:
  std::size_t width_, height_;
  std::size_t held_ = 0;  ///< bytes at the start of packed_ that the stream may look back to
  unsigned char* packed_;
  PictureStream stream_;
};

/// Texts and images of an SVG file. In the drawing that Cairo writes letters are outlines and the
/// pixels of images are blurred, so that they are written here.
class SvgFile {
 public:
  /// Sets the colour under everything; without it there is none.
  void set_paper(Colour colour) { paper_ = colour; }

  /// Adds a PNG file, spread over a box with sharp pixels or, of `fine` ones, with pixels that
  /// viewers may blend where they show fewer.
  void add_image(std::string_view png, const Box& box, bool fine);

  /// Adds a line of text. It names the fonts that it was set in and its width in points, so that
  /// other fonts take no more. `origin` is the start of its baseline, about which it is turned
  /// anticlockwise.
  void add_text(PangoLayout* line, double width, Point origin, double degrees, Colour colour);

  /// Cairo's file with the paper and the images under its drawing, the texts over it, and the words
  /// of its metadata.
  std::string finished(std::string_view drawing, const FileText& words) const;

 private:
  std::string text_group() const;

  std::optional<Colour> paper_;
  std::string images_, texts_;
  std::string family_;  ///< of all texts
};

/// The tag of a PDF file's content, for programs that read it aloud.
inline constexpr const char* figure_tag = "Figure";
/// Cairo's PDF file of version 1.4 with a text for those who cannot see the picture, which Cairo
/// cannot give its figure_tag, the language of its words, and the mark of files with tags.
std::string tagged_pdf(std::string pdf, const std::string& alternative);

/// An animated PNG of frames, PNG files of one size without palettes, each shown for so many
/// seconds, over and over. Readers that know no animations show the first. Throws Error(internal)
/// for frames of several sizes.
std::string animated_png(std::span<const std::string> frames, double seconds);

}  // namespace attn::plot
