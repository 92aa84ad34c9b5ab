#include <algorithm>
#include <utility>
#include <vector>

#include "fuzz/fuzz_input.hpp"
#include "images/decoding.hpp"
#include "images/resampling.hpp"
#include "models/vision.hpp"

namespace {

using namespace attn;

constexpr std::size_t choices = 3;  // bytes behind the file: filter, height, width
constexpr std::size_t png_signature = 8, chunk_head = 8, chunk_sum = 4;

std::uint32_t big_endian(const std::uint8_t* bytes) {
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8U | bytes[i];
  return number;
}

// The checksum of PNG (ISO 3309).
std::uint32_t checksum(const std::uint8_t* bytes, std::size_t count) {
  std::uint32_t sum = 0xffffffff;
  for (std::size_t i = 0; i < count; ++i) {
    sum ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1U ^ ((sum & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~sum;
}

// Gives the chunks of a PNG file right checksums, without which no change would be decoded.
std::vector<std::uint8_t> with_checksums(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> file(data, data + size);
  if (size < png_signature || file[0] != 0x89) return file;
  std::size_t at = png_signature;
  while (size - at >= chunk_head + chunk_sum) {
    const std::size_t length = big_endian(file.data() + at);
    if (length > size - at - chunk_head - chunk_sum) break;
    const std::uint32_t sum = checksum(file.data() + at + 4, length + 4);
    at += chunk_head + length;
    for (unsigned i = 0; i < 4; ++i) file[at + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    at += chunk_sum;
  }
  return file;
}

void check_size(const Pixels& picture, std::size_t height, std::size_t width) {
  fuzz::require(picture.height == height && picture.width == width);
  fuzz::require(picture.rgb.size() == height * width * 3);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < choices) return 0;
  const std::uint8_t* const chosen = data + size - choices;
  const auto filter = static_cast<Resampling>(chosen[0] % 5);
  const std::size_t height = 1 + chosen[1] % 64U, width = 1 + chosen[2] % 64U;
  // What a processor asks for: a shorter side, a crop or a size of up to 65536 pixels.
  ImageProcessor processor;
  const std::size_t asked = (height * 64 + width) * 16 - 15;
  processor.filter = filter;
  if ((chosen[0] & 128U) != 0) {
    processor.resize = {0, 0, asked};
  } else if ((chosen[0] & 64U) != 0) {
    processor.crop = {asked, asked, 0};
  } else {
    processor.resize = {asked, asked, 0};
  }
  const std::vector<std::uint8_t> file = with_checksums(data, size - choices);
  const fuzz::Input input(file.data(), file.size());
  Limits limits;
  limits.elements = 200'000;
  fuzz::accept_refusals([&] {
    const Pixels picture = decode_picture(input.bytes(), limits);
    fuzz::require(looks_like_picture(input.bytes()));
    check_size(picture, picture.height, picture.width);
    fuzz::require(!picture.rgb.empty() && picture.rgb.size() <= limits.elements);
    fuzz::accept_refusals([&] {
      const Pixels prepared = processor.prepared(picture, limits);
      check_size(prepared, prepared.height, prepared.width);
      fuzz::require(prepared.rgb.size() <= limits.elements);
    });
    const Pixels made = resampled(picture, height, width, filter, limits);
    check_size(made, height, width);
    if (filter != Resampling::lanczos && filter != Resampling::bicubic) {
      // Shares of at least 0 keep to the range, but for the rounding of two axes.
      const auto [least, most] = std::ranges::minmax(picture.rgb);
      const auto [low, high] = std::ranges::minmax(made.rgb);
      fuzz::require(low + 2 >= least && high <= most + 2);
    }
    fuzz::require(resampled(picture, picture.height, picture.width, filter, limits).rgb ==
                  picture.rgb);
    check_size(centre_cropped(made, width, height, limits), width, height);
  });
  return 0;
}
