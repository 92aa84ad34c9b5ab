#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace attn::plot {

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

}  // namespace attn::plot
