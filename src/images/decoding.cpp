#include "images/decoding.hpp"

#include <array>
#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

/// Numbers of a TIFF file in its order of bytes. Reads nothing beyond its end.
class TiffNumbers {
 public:
  TiffNumbers(std::span<const std::uint8_t> bytes, bool big_first)
      : bytes_(bytes), big_first_(big_first) {}

  std::optional<std::uint32_t> at(std::size_t place, std::size_t width) const {
    if (place > bytes_.size() || width > bytes_.size() - place) return std::nullopt;
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < width; ++i) {
      number = number << 8U | bytes_[place + (big_first_ ? i : width - 1 - i)];
    }
    return number;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  bool big_first_;
};

}  // namespace

int exif_orientation(std::span<const std::uint8_t> block) {
  constexpr std::size_t entry_size = 12;
  constexpr std::uint32_t orientation_tag = 0x0112, type_byte = 1, type_short = 3, type_long = 4;
  if (block.size() < 8 || block[0] != block[1] || (block[0] != 'I' && block[0] != 'M')) return 1;
  const TiffNumbers numbers(block, block[0] == 'M');
  const std::size_t directory = numbers.at(4, 4).value_or(0);
  const std::size_t count = numbers.at(directory, 2).value_or(0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = directory + 2 + i * entry_size;
    const auto tag = numbers.at(entry, 2);
    if (!tag) return 1;
    if (*tag != orientation_tag) continue;
    const std::uint32_t type = numbers.at(entry + 2, 2).value_or(0);
    const std::size_t width = type == type_byte    ? 1
                              : type == type_short ? 2
                              : type == type_long  ? 4
                                                   : 0;
    const std::uint32_t value = width == 0 ? 1 : numbers.at(entry + 8, width).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

namespace {

constexpr std::size_t rgb_channels = 3;
constexpr std::array<std::uint8_t, 8> png_signature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<std::uint8_t, 3> jpeg_signature{0xff, 0xd8, 0xff};

bool begins_with(std::span<const std::byte> file, std::span<const std::uint8_t> signature) {
  if (file.size() < signature.size()) return false;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    if (std::to_integer<std::uint8_t>(file[i]) != signature[i]) return false;
  }
  return true;
}

// Turns and mirrors by an orientation of TIFF 6.0. From 5 on rows and columns change places; even
// and odd ones differ by a mirror.
Pixels upright(Pixels stored, int orientation) {
  if (orientation <= 1) return stored;
  const bool turned = orientation >= 5;
  Pixels result;
  result.height = turned ? stored.width : stored.height;
  result.width = turned ? stored.height : stored.width;
  result.cut_off = stored.cut_off;
  result.rgb.resize(stored.rgb.size());
  // The last row or column of the stored picture comes first.
  const bool from_below =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  for (std::size_t y = 0; y < result.height; ++y) {
    check_time();
    for (std::size_t x = 0; x < result.width; ++x) {
      // Mirrors are those of the result where rows and columns change places.
      std::size_t row = turned ? x : y, column = turned ? y : x;
      if (turned ? from_right : from_below) row = stored.height - 1 - row;
      if (turned ? from_below : from_right) column = stored.width - 1 - column;
      for (std::size_t c = 0; c < rgb_channels; ++c) {
        result.rgb[(y * result.width + x) * rgb_channels + c] =
            stored.rgb[(row * stored.width + column) * rgb_channels + c];
      }
    }
  }
  return result;
}

}  // namespace

void check_pixels(const std::string& what, std::size_t height, std::size_t width,
                  std::size_t bytes_each, const Limits& limits) {
  if (width == 0 || height == 0) {
    throw input_error(translated("{1} is empty: {2} × {3} pixels", what, width, height), "",
                      translated("give a picture with at least one pixel"));
  }
  const double numbers = static_cast<double>(width) * static_cast<double>(height) * rgb_channels;
  if (numbers > static_cast<double>(limits.elements)) {
    const double most = static_cast<double>(limits.elements);
    throw input_error(translated("{1} has {2} × {3} pixels, {4} numbers, and the limit is {5}",
                                 what, width, height, amount_text(numbers, most), limit_text(most)),
                      "", translated("make it smaller, or raise the limit with Limits::elements"));
  }
  check_memory(static_cast<double>(bytes_each) * numbers, what, "");
}

void check_stored_pixels(std::size_t height, std::size_t width, const Limits& limits) {
  check_pixels(translated("the picture"), height, width, 2, limits);  // as stored, and upright
}

bool looks_like_picture(std::span<const std::byte> file) noexcept {
  return begins_with(file, png_signature) || begins_with(file, jpeg_signature);
}

Pixels decode_picture(std::span<const std::byte> file, const Limits& limits,
                      Transparency transparency) {
  if (begins_with(file, png_signature)) {
    StoredPicture stored = decode_png(file, limits, transparency);
    return upright(std::move(stored.pixels), stored.orientation);
  }
  if (begins_with(file, jpeg_signature)) {
    StoredPicture stored = decode_jpeg(file, limits);
    return upright(std::move(stored.pixels), stored.orientation);
  }
  if (file.empty()) {
    throw input_error(translated("the file is empty"), "", translated("save the picture again"));
  }
  throw input_error(translated("the file is neither a PNG nor a JPEG picture"), "",
                    translated("save the picture as PNG or JPEG"));
}

}  // namespace attn
