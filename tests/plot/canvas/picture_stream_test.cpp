#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include "plot/canvas/picture_files.hpp"

namespace {

using attn::plot::picture_stream;
using attn::plot::PictureRows;
using Bytes = std::vector<unsigned char>;

// Bytes that another program makes of a stream; more than was packed is asked for, so that too much
// would show.
Bytes unpacked(const std::string& stream, std::size_t size) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> reader(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  Bytes bytes(size + 100);
  std::size_t written = 0;
  REQUIRE(libdeflate_zlib_decompress(reader.get(), stream.data(), stream.size(), bytes.data(),
                                     bytes.size(), &written) == LIBDEFLATE_SUCCESS);
  bytes.resize(written);
  return bytes;
}

void check_whole(const Bytes& bytes, const PictureRows& rows) {
  CAPTURE(bytes.size());
  CAPTURE(rows.pixel);
  CAPTURE(rows.row);
  const bool same = unpacked(picture_stream(bytes, rows), bytes.size()) == bytes;
  CHECK(same);
}

TEST_CASE("a stream of few bytes is those bytes") {
  check_whole({}, {3, 7});
  for (std::size_t size = 1; size < 12; ++size) {
    check_whole(Bytes(size, 255), {3, 7});
    Bytes rising(size);
    for (std::size_t i = 0; i < size; ++i) rising[i] = static_cast<unsigned char>(i);
    check_whole(rising, {4, 9});
  }
}

TEST_CASE("runs of every length around the longest repetition are whole") {
  for (std::size_t size = 250; size < 1050; ++size) {
    Bytes bytes(size, 7);
    bytes.back() = 8;
    check_whole(bytes, {3, 100000});
  }
}

TEST_CASE("areas, slanting lines, letters and noise of pictures of any width are whole") {
  std::mt19937 random(11);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  for (int picture = 0; picture < 200; ++picture) {
    CAPTURE(picture);
    const std::size_t pixel = 3 + below(2), width = 1 + below(picture % 20 == 0 ? 14000 : 90),
                      height = 1 + below(60), row = pixel * width + 1;
    Bytes bytes(row * height, 0);
    const std::size_t areas = below(12), noise = below(4) == 0 ? 3 : 400;
    for (std::size_t area = 0; area < areas; ++area) {
      const std::size_t top = below(height), bottom = top + below(height - top) + 1;
      const std::size_t left = below(width), right = left + below(width - left) + 1;
      const auto value = static_cast<unsigned char>(random());
      for (std::size_t y = top; y < bottom; ++y) {
        for (std::size_t x = left; x < right; ++x) {
          const bool line = (x + y) % 9 == 0;
          for (std::size_t c = 0; c < pixel; ++c) {
            bytes[y * row + 1 + x * pixel + c] =
                static_cast<unsigned char>(line ? value + c : value);
          }
        }
      }
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (below(noise) == 0) bytes[i] = static_cast<unsigned char>(random());
    }
    check_whole(bytes, {pixel, row});
  }
}

TEST_CASE("a code that would be too deep becomes a flatter one") {
  // Counts that grow as Fibonacci's numbers make the deepest tree there is.
  Bytes bytes;
  std::size_t count = 1, next = 1;
  for (int value = 0; value < 24; ++value) {
    for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<unsigned char>(value * 9));
    const std::size_t sum = count + next;
    count = next;
    next = sum;
  }
  // In an order in which nothing is repeated from nearby.
  std::mt19937 random(5);
  for (std::size_t i = bytes.size(); i-- > 1;) std::swap(bytes[i], bytes[random() % (i + 1)]);
  check_whole(bytes, {3, 40000});
}

TEST_CASE("flat areas take next to nothing, noise no more than a hundredth of itself on top") {
  constexpr std::size_t row = 3 * 2000 + 1;
  Bytes flat(row * 1000, 255);
  for (std::size_t y = 0; y < 1000; ++y) {
    flat[y * row] = 0;
    for (std::size_t i = 900; i < 1800; ++i)
      flat[y * row + i] = static_cast<unsigned char>(y / 250);
  }
  CHECK(picture_stream(flat, {3, row}).size() < flat.size() / 100);
  std::mt19937 random(3);
  Bytes noise(row * 100);
  for (unsigned char& byte : noise) byte = static_cast<unsigned char>(random());
  CHECK(picture_stream(noise, {3, row}).size() < noise.size() + noise.size() / 100);
  check_whole(noise, {3, row});
}

// The stream of bytes that come in parts of random lengths, and again and again.
TEST_CASE("parts of any length and repetitions make one stream") {
  std::mt19937 random(21);
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const std::size_t row = 1 + 3 * (1 + below(round % 10 == 0 ? 10000 : 60));
    attn::plot::PictureStream stream({3, row});
    Bytes all;
    for (std::size_t part = 0; part < 12; ++part) {
      // Bytes of a few values, some of them like those a row before.
      const std::size_t begin = all.size(), count = below(4 * row);
      for (std::size_t i = 0; i < count; ++i) {
        const bool as_above = all.size() >= row && below(9) > 0;
        all.push_back(as_above ? all[all.size() - row] : static_cast<unsigned char>(below(3)));
      }
      stream.add(std::span(all).subspan(begin));
      if (all.size() < row || below(2) == 0) continue;
      const Bytes last(all.end() - static_cast<std::ptrdiff_t>(row), all.end());
      const std::size_t times = 1 + below(300);
      stream.repeat(std::span(all).last(row), times);
      for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), last.begin(), last.end());
    }
    const bool same = unpacked(stream.finish(), all.size()) == all;
    CHECK(same);
  }
}

TEST_CASE("equal bytes give equal streams") {
  std::mt19937 random(8);
  Bytes bytes(50000);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random() % 3);
  const std::string first = picture_stream(bytes, {3, 301});
  for (int again = 0; again < 3; ++again) CHECK((picture_stream(bytes, {3, 301}) == first));
}

}  // namespace
