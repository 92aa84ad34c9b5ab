#include <optional>

#include "images/formats.hpp"

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

}  // namespace attn
