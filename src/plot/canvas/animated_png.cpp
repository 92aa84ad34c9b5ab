#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <libdeflate.h>

#include "attn/error.hpp"

#include "plot/canvas/picture_files.hpp"
#include "support/translated.hpp"

// Chunks of animations: acTL says how many frames there are, fcTL how one is shown, and fdAT holds
// the pixels of all frames but the first, after a number of its place.

namespace attn::plot {
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
