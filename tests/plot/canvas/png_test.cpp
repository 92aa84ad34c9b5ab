#include "plot/canvas/png.hpp"

#include <array>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include "plot/decoded_picture.hpp"

namespace {

using attn::plot::encode_png;

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
  const auto chunks = chunks_of(encode_png(pixels, 2, 2, 3, 300));
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
  const auto picture = attn::test::decode_png(encode_png(pixels, 2, 2, 3, 300));
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
  const auto picture = attn::test::decode_png(encode_png(pixels, side, side, side, 300));
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
      const std::string file = encode_png(pixels, 400, 300, 400, 300);
      if (first.empty()) first = file;
      CHECK((file == first));
    });
    thread.join();
  }
}

}  // namespace
