#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <libdeflate.h>

#include "plot/canvas/picture_files.hpp"
#include "support/memory.hpp"

namespace {

using attn::plot::PictureRows;

// Compressor and rows of the picture that stb_image_write is given next, for its hook.
struct Compression {
  std::string (*stream)(std::span<const unsigned char> bytes, const PictureRows& rows);
  PictureRows rows;
};
thread_local Compression next_compression{};

// Called by stb_image_write for the bytes of all rows: a zlib stream in a block that it frees, null
// if there is no memory.
unsigned char* compress(unsigned char* data, int size, int* packed_size, int) {
  try {
    const std::string stream =
        next_compression.stream({data, static_cast<std::size_t>(size)}, next_compression.rows);
    void* const block = attn::allocate_block(stream.size());
    if (block == nullptr) return nullptr;
    std::memcpy(block, stream.data(), stream.size());
    *packed_size = static_cast<int>(stream.size());
    return static_cast<unsigned char*>(block);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

#define STBIW_ZLIB_COMPRESS compress
#define STBIW_MALLOC(size) attn::allocate_block(size)
#define STBIW_REALLOC(block, size) std::realloc(block, size)
#define STBIW_FREE(block) attn::free_block(block)
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
// The header casts what these macros give in the old style.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <cstdint>

#include <stb_image_write.h>

#include "attn/error.hpp"

#include "support/translated.hpp"
#pragma GCC diagnostic pop

namespace attn::plot {
namespace {

constexpr std::size_t channels = 3;
constexpr int image_compression_level = 8;
// Ends of the signature and of the IHDR chunk behind it, and the place of its byte that says what a
// pixel is.
constexpr std::size_t signature_end = 8, header_end = 8 + 25, kind_in_header = 8 + 8 + 9;
constexpr char of_channels = 2, of_palette = 3;  // what a pixel is
constexpr double metres_per_inch = 0.0254;

void append_number(std::string& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift);
}

std::string chunk(std::string_view type, std::string_view content) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint32_t>(content.size()));
  bytes.append(type).append(content);
  append_number(bytes, libdeflate_crc32(0, bytes.data() + 4, bytes.size() - 4));
  return bytes;
}

std::string resolution_chunk(double dpi) {
  const auto pixels_per_metre = static_cast<std::uint32_t>(std::lround(dpi / metres_per_inch));
  std::string content;
  append_number(content, pixels_per_metre);
  append_number(content, pixels_per_metre);
  content += '\1';  // the unit is the metre
  return chunk("pHYs", content);
}

// Three bytes of each pixel and, behind them, any fourth.
void pack(std::span<const std::uint32_t> row, unsigned char* out) {
  constexpr bool lowest_first = std::endian::native == std::endian::little;
  for (const std::uint32_t pixel : row) {
    // Four bytes are one move; the fourth falls where the next pixel goes.
    const std::uint32_t rgb =
        lowest_first ? (pixel >> 16 & 255U) | (pixel & 0xFF00U) | (pixel & 255U) << 16 : pixel << 8;
    std::memcpy(out, &rgb, sizeof rgb);
    out += channels;
  }
}

// Three bytes of each pixel, one row after the other, in the memory of the pixels.
const unsigned char* packed(std::span<std::uint32_t> pixels, std::size_t width, std::size_t height,
                            std::size_t stride) {
  auto* const bytes = reinterpret_cast<unsigned char*>(pixels.data());
  for (std::size_t y = 0; y < height; ++y) {
    pack(pixels.subspan(y * stride, width), bytes + y * channels * width);
  }
  return bytes;
}

// Four bytes of each pixel, no longer multiplied by their alpha, likewise.
const unsigned char* packed_with_alpha(std::span<std::uint32_t> pixels, std::size_t width,
                                       std::size_t height, std::size_t stride) {
  auto* const bytes = reinterpret_cast<unsigned char*>(pixels.data());
  unsigned char* out = bytes;
  for (std::size_t y = 0; y < height; ++y) {
    for (const std::uint32_t pixel : pixels.subspan(y * stride, width)) {
      const std::uint32_t alpha = pixel >> 24;
      const auto channel = [&](int shift) {
        const std::uint32_t value = pixel >> shift & 255;
        return static_cast<unsigned char>(alpha == 0 ? 0 : (value * 255 + alpha / 2) / alpha);
      };
      const std::array<unsigned char, 4> rgba{channel(16), channel(8), channel(0),
                                              static_cast<unsigned char>(alpha)};
      std::memcpy(out, rgba.data(), rgba.size());
      out += rgba.size();
    }
  }
  return bytes;
}

// The signature and the first chunk of three bytes a pixel.
std::string header(std::size_t width, std::size_t height) {
  std::string content;
  append_number(content, static_cast<std::uint32_t>(width));
  append_number(content, static_cast<std::uint32_t>(height));
  content += '\x8';  // bits
  content += of_channels;
  content.append(3, '\0');  // compression, filters and interlacing
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", content);
}

// The metadata of a picture, as chunks.
std::string statements(double dpi, const FileText& words) {
  std::string chunks = resolution_chunk(dpi);
  chunks += chunk("tEXt", std::string("Software\0", 9) + maker);
  const auto say = [&](std::string keyword, const std::string& text) {
    // International text: a keyword, not compressed, no language, no translated keyword.
    if (!text.empty()) chunks += chunk("iTXt", keyword + std::string(5, '\0') + text);
  };
  say("Comment", words.provenance);
  if (words.caption.empty()) return chunks;
  say("Title", words.title);
  say("Description", words.description);
  say("Caption", words.caption);
  return chunks;
}

// The zlib stream of a small image, whose size counts more than the time.
std::string small_stream(std::span<const unsigned char> bytes, const PictureRows&) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(image_compression_level), libdeflate_free_compressor);
  if (compressor == nullptr) throw std::bad_alloc();
  std::string packed(libdeflate_zlib_compress_bound(compressor.get(), bytes.size()), '\0');
  packed.resize(libdeflate_zlib_compress(compressor.get(), bytes.data(), bytes.size(),
                                         packed.data(), packed.size()));
  return packed;
}

// The file of rows of `pixel` bytes a pixel: 1, 3 or 4.
std::string laid_out(const unsigned char* bytes, std::size_t width, std::size_t height,
                     std::size_t pixel, decltype(Compression::stream) compressor) {
  // Figures are flat areas: the filters that stb would try on each line cost time and gain nothing.
  // The setting belongs to this file and is made once, before the first use in any thread.
  static const bool unfiltered = (stbi_write_force_png_filter = 0, true);
  static_cast<void>(unfiltered);

  next_compression = {compressor, {pixel, pixel * width + 1}};
  int size = 0;
  const std::unique_ptr<unsigned char, FreeBlock> png(
      stbi_write_png_to_mem(bytes, static_cast<int>(pixel * width), static_cast<int>(width),
                            static_cast<int>(height), static_cast<int>(pixel), &size));
  if (png == nullptr) throw std::bad_alloc();
  return {reinterpret_cast<const char*>(png.get()), static_cast<std::size_t>(size)};
}

}  // namespace

std::string encode_png(std::span<std::uint32_t> pixels, std::size_t width, std::size_t height,
                       std::size_t stride, bool clear, double dpi, const FileText& words) {
  const unsigned char* const bytes = clear ? packed_with_alpha(pixels, width, height, stride)
                                           : packed(pixels, width, height, stride);
  std::string file =
      laid_out(bytes, width, height, clear ? channels + 1 : channels, picture_stream);
  return file.insert(header_end, statements(dpi, words));
}

std::string encode_image(std::span<const std::uint32_t> pixels, std::size_t width,
                         std::size_t height) {
  constexpr std::size_t most_colours = 256;
  constexpr std::uint32_t all_channels = 0xFFFFFF;
  std::unordered_map<std::uint32_t, unsigned char> numbers;
  std::string palette;
  for (const std::uint32_t pixel : pixels) {
    const std::uint32_t colour = pixel & all_channels;
    const auto number = static_cast<unsigned char>(numbers.size());
    if (numbers.size() == most_colours && !numbers.contains(colour)) {
      palette.clear();
      break;
    }
    if (!numbers.try_emplace(colour, number).second) continue;
    for (const int shift : {16, 8, 0}) palette += static_cast<char>(colour >> shift);
  }
  std::vector<unsigned char> bytes;
  bytes.reserve((palette.empty() ? channels : 1) * width * height);
  for (const std::uint32_t pixel : pixels) {
    if (!palette.empty()) {
      bytes.push_back(numbers.at(pixel & all_channels));
      continue;
    }
    for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<unsigned char>(pixel >> shift));
  }
  if (palette.empty()) return laid_out(bytes.data(), width, height, channels, small_stream);
  // stb_image_write knows no palettes: the file of one byte a pixel becomes one.
  std::string file = laid_out(bytes.data(), width, height, 1, small_stream);
  file[kind_in_header] = of_palette;
  const std::string content = file.substr(signature_end + 8, header_end - signature_end - 12);
  return file.replace(signature_end, header_end - signature_end,
                      chunk("IHDR", content) + chunk("PLTE", palette));
}

PngFile::PngFile(std::size_t width, std::size_t height, unsigned char* memory)
    : width_(width), height_(height), packed_(memory), stream_({channels, channels * width + 1}) {}

std::size_t PngFile::bytes_for(std::size_t width, std::size_t most_rows) {
  return PictureStream::reach + most_rows * (channels * width + 1) + 1;
}

void PngFile::add(std::span<const std::uint32_t> pixels, std::size_t rows, std::size_t stride) {
  const std::size_t length = channels * width_ + 1;
  unsigned char* begin = packed_ + held_;  // of what the stream does not have yet
  unsigned char* out = begin;
  const auto copy_last = [&](std::size_t count) {
    for (; count > 0; --count, out += length) std::memcpy(out, out - length, length);
  };
  for (std::size_t y = 0; y < rows;) {
    // 1. Each row begins with the number of its filter, none.
    const auto* row = pixels.data() + y * stride;
    *out = 0;
    pack({row, width_}, out + 1);
    out += length;
    ++y;
    // 2. Most rows of a figure are like the one before. The stream gets their number; only those
    //    that it may look back to are made.
    std::size_t alike = 0;
    for (; y < rows && std::memcmp(row, row + stride, width_ * sizeof *row) == 0; row += stride) {
      ++alike;
      ++y;
    }
    if (alike == 0) continue;
    if (length > PictureStream::reach) {
      copy_last(alike);
      continue;
    }
    stream_.add({begin, out});
    stream_.repeat({out - length, length}, alike);
    copy_last(std::min(alike, PictureStream::reach / length + 1));
    begin = out;
  }
  stream_.add({begin, out});
  // 3. The last bytes, and what was held before where they are few, stay for the next rows.
  const auto all = static_cast<std::size_t>(out - packed_);
  held_ = std::min(all, PictureStream::reach);
  std::memmove(packed_, out - held_, held_);
}

std::string PngFile::finish(double dpi, const FileText& words) {
  return header(width_, height_) + statements(dpi, words) + chunk("IDAT", stream_.finish()) +
         chunk("IEND", "");
}

// Chunks of animations: acTL says how many frames there are, fcTL how one is shown, and fdAT holds
// the pixels of all frames but the first, after a number of its place.

namespace {

constexpr std::size_t signature_size = 8, length_size = 4, type_size = 4, checksum_size = 4;
constexpr std::size_t size_in_header = 8;  // bytes of width and height
constexpr double parts_of_second = 1000;

struct Chunk {
  std::string_view type, content;
};

std::vector<Chunk> chunks_of(std::string_view png) {
  std::vector<Chunk> chunks;
  for (std::size_t at = signature_size; at + length_size + type_size <= png.size();) {
    std::uint32_t length = 0;
    for (const char byte : png.substr(at, length_size)) {
      length = length << 8 | static_cast<unsigned char>(byte);
    }
    const std::size_t start = at + length_size + type_size;
    chunks.push_back({png.substr(at + length_size, type_size), png.substr(start, length)});
    at = start + length + checksum_size;
  }
  return chunks;
}

void append_big_endian(std::string& bytes, std::uint32_t number, int size = 4) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
    bytes += static_cast<char>(number >> shift);
}

void append(std::string& file, std::string_view type, std::string_view content) {
  append_big_endian(file, static_cast<std::uint32_t>(content.size()));
  const std::size_t start = file.size();
  file.append(type).append(content);
  append_big_endian(file, libdeflate_crc32(0, file.data() + start, file.size() - start));
}

}  // namespace

std::string animated_png(std::span<const std::string> frames, double seconds) {
  std::uint32_t place = 0;
  const std::string_view first = frames[0];
  const std::vector<Chunk> head = chunks_of(first);
  std::string file(first.substr(0, signature_size));
  for (const std::string& frame : frames) {
    const std::vector<Chunk> chunks = chunks_of(frame);
    if (chunks[0].content != head[0].content) {
      throw Error(ErrorKind::internal, translated("the frames of an animation have several sizes"),
                  "", "");
    }
    if (&frame == frames.data()) {
      append(file, chunks[0].type, chunks[0].content);
      std::string control;
      append_big_endian(control, static_cast<std::uint32_t>(frames.size()));
      append_big_endian(control, 0);  // without end
      append(file, "acTL", control);
    }
    std::string shown;
    append_big_endian(shown, place++);
    shown.append(chunks[0].content.substr(0, size_in_header));
    append_big_endian(shown, 0);
    append_big_endian(shown, 0);
    append_big_endian(shown, static_cast<std::uint32_t>(std::lround(seconds * parts_of_second)), 2);
    append_big_endian(shown, static_cast<std::uint32_t>(parts_of_second), 2);
    append_big_endian(shown, 0, 2);  // the frame stays until the next, which replaces it
    bool pixels = false;
    for (const Chunk& chunk : chunks) {
      if (chunk.type == "IHDR" || chunk.type == "IEND") continue;
      if (chunk.type != "IDAT") {
        if (&frame == frames.data() && !pixels) append(file, chunk.type, chunk.content);
        continue;
      }
      if (!pixels) append(file, "fcTL", shown);
      pixels = true;
      if (&frame == frames.data()) {
        append(file, chunk.type, chunk.content);
      } else {
        std::string content;
        append_big_endian(content, place++);
        append(file, "fdAT", content.append(chunk.content));
      }
    }
  }
  append(file, "IEND", "");
  return file;
}

}  // namespace attn::plot
