#include "plot/decoded_picture.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace attn::test {

DecodedPicture decode_png(const std::string& bytes) {
  int width = 0, height = 0, channels = 0;
  const std::unique_ptr<stbi_uc, decltype(&std::free)> pixels(
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()),
                            static_cast<int>(bytes.size()), &width, &height, &channels, 3),
      std::free);
  if (pixels == nullptr) throw std::runtime_error("not a PNG file");
  DecodedPicture picture;
  picture.width = static_cast<std::size_t>(width);
  picture.height = static_cast<std::size_t>(height);
  picture.rgb.assign(pixels.get(), pixels.get() + picture.width * picture.height * 3);
  return picture;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

double differing_share(const DecodedPicture& a, const DecodedPicture& b, int tolerance) {
  if (a.width != b.width || a.height != b.height) return 1;
  std::size_t differing = 0;
  for (std::size_t i = 0; i < a.rgb.size(); i += 3) {
    bool differs = false;
    for (std::size_t c = i; c < i + 3; ++c) differs |= std::abs(a.rgb[c] - b.rgb[c]) > tolerance;
    differing += differs;
  }
  return static_cast<double>(differing) / static_cast<double>(a.width * a.height);
}

Margins margins_of(const DecodedPicture& picture) {
  const auto row_is_white = [&](std::size_t y) {
    for (std::size_t x = 0; x < picture.width; ++x) {
      if (!picture.is_white(x, y)) return false;
    }
    return true;
  };
  const auto column_is_white = [&](std::size_t x) {
    for (std::size_t y = 0; y < picture.height; ++y) {
      if (!picture.is_white(x, y)) return false;
    }
    return true;
  };
  Margins margins;
  while (margins.top < picture.height && row_is_white(margins.top)) ++margins.top;
  while (margins.left < picture.width && column_is_white(margins.left)) ++margins.left;
  while (margins.bottom < picture.height && row_is_white(picture.height - 1 - margins.bottom)) {
    ++margins.bottom;
  }
  while (margins.right < picture.width && column_is_white(picture.width - 1 - margins.right)) {
    ++margins.right;
  }
  return margins;
}

std::pair<double, double> png_size(const std::string& bytes) {
  constexpr std::size_t width_at = 16, height_at = 20;
  const auto number = [&](std::size_t at) {
    double value = 0;
    for (std::size_t i = at; i < at + 4; ++i)
      value = value * 256 + static_cast<unsigned char>(bytes.at(i));
    return value;
  };
  return {number(width_at), number(height_at)};
}

}  // namespace attn::test
