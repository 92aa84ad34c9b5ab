#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include "plot/canvas/picture_files.hpp"
#include "plot/decoded_picture.hpp"

namespace {

using attn::plot::PngFile;

// The file of pixels that are given `rows_at_once` rows at a time; 0 = all.
std::string file_of_parts(std::span<const std::uint32_t> pixels, std::size_t width,
                          std::size_t height, std::size_t stride, double dpi,
                          std::size_t rows_at_once = 0) {
  const std::size_t most = rows_at_once == 0 ? height : rows_at_once;
  std::vector<unsigned char> memory(PngFile::bytes_for(width, most));
  PngFile file(width, height, memory.data());
  for (std::size_t y = 0; y < height; y += most) {
    file.add(pixels.subspan(y * stride), std::min(most, height - y), stride);
  }
  return file.finish(dpi);
}

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

struct Chunk {
  std::string type, content;
};

std::vector<Chunk> chunks_of(const std::string& png) {
  REQUIRE(png.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  std::vector<Chunk> chunks;
  std::size_t at = 8;
  while (at < png.size()) {
    const std::size_t size = number_at(png, at);
    REQUIRE(at + size + 12 <= png.size());
    const auto* checked = reinterpret_cast<const unsigned char*>(png.data()) + at + 4;
    CHECK(number_at(png, at + 8 + size) == libdeflate_crc32(0, checked, size + 4));
    chunks.push_back({png.substr(at + 4, 4), png.substr(at + 8, size)});
    at += size + 12;
  }
  return chunks;
}

TEST_CASE("a PNG file states its size, resolution and program in whole chunks") {
  std::vector<std::uint32_t> pixels = {0xff0000, 0x00ff00, 0, 0x0000ff, 0x123456, 0};
  const auto chunks = chunks_of(file_of_parts(pixels, 2, 2, 3, 300));
  REQUIRE(chunks.size() == 5);
  CHECK(chunks[0].type == "IHDR");
  CHECK(chunks[0].content == std::string("\0\0\0\2\0\0\0\2\x08\2\0\0\0", 13));
  CHECK(chunks[1].type == "pHYs");
  CHECK(number_at(chunks[1].content, 0) == 11811);
  CHECK(number_at(chunks[1].content, 4) == 11811);
  CHECK(chunks[1].content.substr(8) == "\1");
  CHECK(chunks[2].type == "tEXt");
  CHECK(chunks[2].content.starts_with(std::string("Software\0attn-cli ", 18)));
  CHECK(chunks[3].type == "IDAT");
  CHECK(chunks[4].type == "IEND");
}

TEST_CASE("the pixels of a PNG file are those given, rows ending before the stride") {
  std::vector<std::uint32_t> pixels = {0xff0000, 0x00ff00, 0xbad, 0x0000ff, 0x123456, 0xbad};
  const auto picture = attn::test::decode_png(file_of_parts(pixels, 2, 2, 3, 300));
  CHECK(picture.width == 2);
  CHECK(picture.height == 2);
  CHECK(picture.rgb ==
        std::vector<std::uint8_t>{255, 0, 0, 0, 255, 0, 0, 0, 255, 0x12, 0x34, 0x56});
}

TEST_CASE("pixels that hardly compress are written whole") {
  constexpr std::size_t side = 700;
  std::vector<std::uint32_t> pixels(side * side);
  std::uint32_t state = 1;
  for (std::uint32_t& pixel : pixels) {
    state = state * 1664525 + 1013904223;
    pixel = state >> 8;
  }
  const std::vector<std::uint32_t> expected = pixels;
  const auto picture = attn::test::decode_png(file_of_parts(pixels, side, side, side, 300));
  REQUIRE(picture.rgb.size() == 3 * expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::uint32_t decoded = std::uint32_t{picture.rgb[3 * i]} << 16 |
                                  std::uint32_t{picture.rgb[3 * i + 1]} << 8 |
                                  picture.rgb[3 * i + 2];
    wrong += decoded == expected[i] ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a file of rows that are given in parts shows the same pixels") {
  constexpr std::size_t side = 301;
  for (const std::size_t width : {side, std::size_t{1}, std::size_t{11000}}) {
    std::vector<std::uint32_t> pixels(width * side);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t x = i % width, y = i / width;
      // Rows that are alike for a while, and rows that are not.
      pixels[i] = static_cast<std::uint32_t>(y % 100 < 60 ? x / 3 * 0x10305 + y / 20
                                                          : x * 0x123 + y * 0x4567) &
                  0xFFFFFFU;
    }
    const auto whole = attn::test::decode_png(file_of_parts(pixels, width, side, width, 300));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const auto* rgb = &whole.rgb[3 * i];
      wrong += (rgb[0] << 16 | rgb[1] << 8 | rgb[2]) == static_cast<int>(pixels[i]) ? 0 : 1;
    }
    CHECK(wrong == 0);
    for (const std::size_t rows : {1U, 7U, 60U, 300U}) {
      CAPTURE(width);
      CAPTURE(rows);
      const auto parts =
          attn::test::decode_png(file_of_parts(pixels, width, side, width, 300, rows));
      CHECK((parts.rgb == whole.rgb));
    }
  }
}

TEST_CASE("a file that is made as a whole is the file of its parts") {
  constexpr std::size_t width = 301, height = 200, stride = 310;
  std::vector<std::uint32_t> pixels(stride * height, 0xbad);
  for (std::size_t i = 0; i < width * height; ++i) {
    const std::size_t x = i % width, y = i / width;
    pixels[y * stride + x] = static_cast<std::uint32_t>(
        y % 100 < 60 ? x / 3 * 0x10305 + y / 20 : (x * 0x123 + y * 0x4567) & 0xFFFFFFU);
  }
  const std::string parts = file_of_parts(pixels, width, height, stride, 300);
  CHECK((attn::plot::encode_png(pixels, width, height, stride, false, 300) == parts));
}

TEST_CASE("an image of few colours has a palette, one of many has none") {
  std::vector<std::uint32_t> pixels = {0xff0000, 0x00ff00, 0x00ff00, 0x0000ff};
  const auto few = chunks_of(attn::plot::encode_image(pixels, 2, 2));
  REQUIRE(few.size() == 4);
  CHECK(few[0].content == std::string("\0\0\0\2\0\0\0\2\x08\3\0\0\0", 13));
  CHECK(few[1].type == "PLTE");
  CHECK(few[1].content == std::string("\xff\0\0\0\xff\0\0\0\xff", 9));
  pixels.resize(300);
  for (std::uint32_t i = 0; i < pixels.size(); ++i) pixels[i] = i;
  const std::string many = attn::plot::encode_image(pixels, 20, 15);
  CHECK(chunks_of(many).size() == 3);
  const auto picture = attn::test::decode_png(many);
  CHECK(picture.rgb[3 * 299 + 1] == 1);
  CHECK(picture.rgb[3 * 299 + 2] == 299 - 256);
}

TEST_CASE("a file may look back to what was given before, but not into the memory before it") {
  constexpr std::size_t width = 20, height = 40;
  std::vector<std::uint32_t> pixels(width * height, 0x102030);
  std::vector<unsigned char> memory(PngFile::bytes_for(width, height), 0x77);
  PngFile file(width, height, memory.data());
  file.add(pixels, height, width);
  const auto picture = attn::test::decode_png(file.finish(300));
  CHECK(picture.rgb.size() == 3 * width * height);
  CHECK(std::count(picture.rgb.begin(), picture.rgb.end(), 0x77) == 0);
}

TEST_CASE("pixels that let the ground through are those given, not multiplied by their alpha") {
  // Half of the ground shines through the first; nothing is left of the last.
  std::vector<std::uint32_t> pixels = {0x80402010, 0xFFFF8000, 0xbad, 0xFF00FF00, 0, 0xbad};
  const std::string png = attn::plot::encode_png(pixels, 2, 2, 3, true, 300);
  const auto chunks = chunks_of(png);
  CHECK(chunks[0].content == std::string("\0\0\0\2\0\0\0\2\x08\6\0\0\0", 13));
  CHECK(chunks[1].type == "pHYs");
  std::array<unsigned char, 2 * 9> rows{};
  std::size_t written = 0;
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> reader(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  const std::string& packed = chunks[chunks.size() - 2].content;
  REQUIRE(libdeflate_zlib_decompress(reader.get(), packed.data(), packed.size(), rows.data(),
                                     rows.size(), &written) == LIBDEFLATE_SUCCESS);
  CHECK(rows == std::array<unsigned char, 18>{0, 128, 64, 32, 128, 255, 128, 0, 255,  //
                                              0, 0, 255, 0, 255, 0, 0, 0, 0});
}

// Leaves a stack that holds other bytes than a fresh one.
void fill_stack(unsigned char value) {
  std::array<volatile unsigned char, 400'000> bytes;
  for (volatile unsigned char& byte : bytes) byte = value;
}

TEST_CASE("the same pixels are the same file, whatever was in memory before") {
  std::vector<std::uint32_t> drawn(400 * 300);
  for (std::size_t i = 0; i < drawn.size(); ++i)
    drawn[i] = static_cast<std::uint32_t>((i % 400) / 17 * 0x010203 + i / 7000 * 0x100);
  std::string first;
  for (const int value : {0, 1, 85, 255}) {
    std::thread thread([&] {
      fill_stack(static_cast<unsigned char>(value));
      std::vector<std::uint32_t> pixels = drawn;
      const std::string file = file_of_parts(pixels, 400, 300, 400, 300);
      if (first.empty()) first = file;
      CHECK((file == first));
    });
    thread.join();
  }
}

}  // namespace
