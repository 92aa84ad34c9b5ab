#include "images/decoding.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "images/resampling.hpp"
#include "support/mapped_file.hpp"

namespace attn {
namespace {

const std::filesystem::path files = std::filesystem::path(ATTN_TEST_DATA) / "images" / "files";

Pixels decoded(const std::string& name, const Limits& limits = {},
               Transparency transparency = Transparency::dropped) {
  const auto file = MappedFile::open(FileName::by_user(files / name));
  return decode_picture(file->bytes(), limits, transparency);
}

// Pillow's pixels, two hexadecimal digits a number.
std::vector<std::uint8_t> bytes_of(const std::string& digits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

int largest_difference(const Pixels& picture, const std::vector<std::uint8_t>& wanted) {
  REQUIRE(picture.rgb.size() == wanted.size());
  int largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(int{picture.rgb[i]} - int{wanted[i]}));
  }
  return largest;
}

TEST_CASE("decoding: pictures of every kind have Pillow's pixels, upright") {
  std::ifstream lines(files / "decoded.txt");
  std::string name, digits;
  std::size_t height = 0, width = 0, count = 0;
  while (lines >> name >> height >> width >> digits) {
    CAPTURE(name);
    const Pixels picture = decoded(name);
    CHECK(picture.height == height);
    CHECK(picture.width == width);
    CHECK(largest_difference(picture, bytes_of(digits)) <= (name.ends_with(".jpg") ? 1 : 0));
    ++count;
  }
  CHECK(count == 22);
}

TEST_CASE(
    "decoding: transparent pictures are laid on white as transformers' convert_to_rgb() does") {
  std::ifstream lines(files / "on_white.txt");
  std::string name, digits;
  std::size_t height = 0, width = 0, count = 0;
  while (lines >> name >> height >> width >> digits) {
    CAPTURE(name);
    CHECK(largest_difference(decoded(name, {}, Transparency::on_white), bytes_of(digits)) == 0);
    ++count;
  }
  CHECK(count == 9);
}

TEST_CASE("decoding: 16-bit grey that is cut off is noted") {
  CHECK(decoded("grey_sixteen.png").cut_off);
  CHECK(!decoded("sixteen.png").cut_off);
}

TEST_CASE("decoding: pictures that cannot be read say why") {
  const auto refused = [](const std::string& name, const std::string& problem,
                          const std::string& help) {
    CAPTURE(name);
    CHECK(error_from([&] { decoded(name); }) == problem + "\n  help:  " + help);
  };
  const std::string again = "save or download the picture again";
  refused("cut_off.png", "the PNG picture is cut off", again);
  refused("cut_off.jpg", "the JPEG picture is cut off", again);
  refused("broken.png", "the PNG picture is broken: \"IDBT: CRC error\"", again);
  refused("empty.png", "the PNG picture is broken: \"Invalid IHDR data\"", again);
  refused("cmyk.jpg", "the JPEG picture has the colours of print (CMYK)",
          "save it in the colours of screens (RGB)");
  refused("animated.png", "the PNG picture is animated, with 2 frames", "save one of its frames");
  refused("decoded.txt", "the file is neither a PNG nor a JPEG picture",
          "save the picture as PNG or JPEG");
  refused("promise.png", "the picture has 100000 × 100000 pixels, 30G numbers, and the limit is 1G",
          "make it smaller, or raise the limit with Limits::elements");
}

TEST_CASE("resampling: every filter gives Pillow's pixels") {
  const Pixels picture = decoded("colour.png");
  std::ifstream lines(files / "resampled.txt");
  std::string digits;
  std::size_t height = 0, width = 0, count = 0;
  int filter = 0;
  while (lines >> filter >> height >> width >> digits) {
    CAPTURE(filter);
    CAPTURE(height);
    CAPTURE(width);
    const Pixels small = resampled(picture, height, width, static_cast<Resampling>(filter), {});
    CHECK(largest_difference(small, bytes_of(digits)) == 0);
    ++count;
  }
  CHECK(count == 33);
}

TEST_CASE("resampling: columns whose shares are made apart have the pixels of a small picture") {
  // Shares of 150 000 columns are made in several parts, each of which repeats the picture's.
  constexpr std::size_t width = 150'000;
  Pixels wide{1, width, {}}, narrow{1, 6, {}};
  for (std::size_t i = 0; i < 3 * width; ++i)
    wide.rgb.push_back(static_cast<std::uint8_t>(i % 9 * 20));
  narrow.rgb.assign(wide.rgb.begin(), wide.rgb.begin() + 18);
  const Pixels large = resampled(wide, 1, 2 * width, Resampling::bilinear, {});
  const Pixels small = resampled(narrow, 1, 12, Resampling::bilinear, {});
  REQUIRE(large.rgb.size() == 6 * width);
  CHECK(std::equal(small.rgb.begin(), small.rgb.end() - 6, large.rgb.begin()));
  CHECK(std::equal(large.rgb.begin() + 36, large.rgb.end() - 36, large.rgb.begin() + 18));
}

TEST_CASE("resampling: what a picture would become is counted before it is made") {
  Limits limits;
  limits.elements = 10'000'000;
  const Pixels line{1, 30'000, std::vector<std::uint8_t>(90'000)};
  const std::string help = "\n  help:  make it smaller, or raise the limit with Limits::elements";
  for (const Resampling filter : {Resampling::nearest, Resampling::bicubic}) {
    CHECK(error_from([&] { resampled(line, 224, 6'720'000, filter, limits); }) ==
          "the resized picture has 6720000 × 224 pixels, 4.52G numbers, and the limit is "
          "10M" +
              help);
  }
  // The columns are shortened first, so that nothing larger than the result is in between.
  const Pixels column{30'000, 1, std::vector<std::uint8_t>(90'000)};
  CHECK(resampled(column, 224, 224, Resampling::box, limits).rgb.size() ==
        std::size_t{224} * 224 * 3);
  CHECK(error_from([&] { centre_cropped(line, 40'000, 40'000, limits); }) ==
        "the resized picture has 40000 × 40000 pixels, 4.8G numbers, and the limit is "
        "10M" +
            help);
}

TEST_CASE("resampling: a crop takes the middle, and black surrounds what is too small") {
  const Pixels picture{2, 3, {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6}};
  CHECK(centre_cropped(picture, 1, 2, {}).rgb == std::vector<std::uint8_t>{1, 1, 1, 2, 2, 2});
  const Pixels wide = centre_cropped(picture, 1, 4, {});
  CHECK(wide.rgb == std::vector<std::uint8_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3});
}

}  // namespace
}  // namespace attn
