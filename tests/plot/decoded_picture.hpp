#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace attn::test {

/// The pixels of a PNG file, three bytes each. Throws std::runtime_error for bytes that are no PNG.
struct DecodedPicture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> rgb;

  const std::uint8_t* at(std::size_t x, std::size_t y) const { return &rgb[(y * width + x) * 3]; }
  bool is_white(std::size_t x, std::size_t y) const {
    const auto* pixel = at(x, y);
    return pixel[0] == 255 && pixel[1] == 255 && pixel[2] == 255;
  }
};

DecodedPicture decode_png(const std::string& bytes);

/// Width and height in the header of a PNG file.
std::pair<double, double> png_size(const std::string& bytes);

/// The whole file. Throws std::runtime_error if it cannot be read.
std::string read_file(const std::string& path);

/// Share of the pixels in which a channel differs by more than `tolerance`; 1 if the sizes differ.
double differing_share(const DecodedPicture& a, const DecodedPicture& b, int tolerance);

/// The white pixels left of, above, right of and below everything drawn.
struct Margins {
  std::size_t left = 0, top = 0, right = 0, bottom = 0;
};
Margins margins_of(const DecodedPicture& picture);

}  // namespace attn::test
