#include <algorithm>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "attn/plot.hpp"

#include "error_from.hpp"
#include "plot/decoded_picture.hpp"

namespace {

using namespace attn;

constexpr std::int64_t causal_part = 1, padding_part = 8;

// Causal; of `count` keys the last one is padding.
MaskMap causal(std::size_t count) {
  std::vector<std::int64_t> hidden_by;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j)
      hidden_by.push_back((j > i ? causal_part : 0) + (j + 1 == count ? padding_part : 0));
  }
  MaskMap mask;
  mask.hidden_by = Tensor({count, count}, std::move(hidden_by));
  mask.parts = {"causal", "window", "valid_lens", "padding"};
  return mask;
}

Picture drawn(const MaskMap& mask, PictureFormat format = PictureFormat::png) {
  FigureOptions options;
  options.dpi = 60;
  return draw_mask(mask, options, format);
}

std::string refusal(const MaskMap& mask) {
  return error_from([&] { drawn(mask); });
}

bool writes(const Picture& picture, const std::string& text) {
  for (const PictureText& written : picture.texts) {
    if (written.text == text) return true;
  }
  return false;
}

bool has_colour(const Picture& picture, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  const auto pixels = attn::test::decode_png(picture.bytes);
  for (std::size_t i = 0; i + 2 < pixels.rgb.size(); i += 3) {
    if (pixels.rgb[i] == red && pixels.rgb[i + 1] == green && pixels.rgb[i + 2] == blue)
      return true;
  }
  return false;
}

TEST_CASE("the legend of a mask names what occurs, alone and together") {
  const Picture picture = drawn(causal(4));
  for (const char* name : {"seen", "causal", "padding", "causal + padding"}) {
    CAPTURE(name);
    CHECK(writes(picture, name));
  }
  CHECK_FALSE(writes(picture, "window"));
}

TEST_CASE("a mask without known reasons tells seen from hidden") {
  MaskMap mask = causal(3);
  mask.parts.clear();
  const Picture picture = drawn(mask);
  CHECK(writes(picture, "seen"));
  CHECK(writes(picture, "hidden"));
}

TEST_CASE("what several parts hide has the mean of their colours, paler, at every size of cells") {
  // The mean of the orange of causality and the grey of padding, 0.45 of it in white.
  CHECK(has_colour(drawn(causal(300)), 230, 214, 179));
  CHECK(has_colour(drawn(causal(4)), 230, 214, 179));
}

// The luminance of the pixels in the middle of a mask whose cells are all hidden by one part.
std::vector<int> greys_of(std::size_t part, std::size_t size) {
  MaskMap mask;
  mask.hidden_by = Tensor({size, size}, std::vector<std::int64_t>(size * size, 1 << part));
  mask.parts = {"causal", "window", "valid_lens", "padding", "allow", "block", "bias"};
  const Picture picture = drawn(mask);
  const auto pixels = attn::test::decode_png(picture.bytes);
  const PictureFrame& frame = picture.frames.at(0);
  const auto left = static_cast<std::size_t>((frame.left + frame.right) / 2) - 20;
  const auto top = static_cast<std::size_t>((frame.top + frame.bottom) / 2) - 20;
  std::vector<int> greys;
  for (std::size_t y = top; y < top + 40; ++y) {
    for (std::size_t x = left; x < left + 40; ++x) {
      const auto* rgb = pixels.at(x, y);
      greys.push_back((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 1000);
    }
  }
  return greys;
}

TEST_CASE("every cause has strokes of its own, which are told apart without colours") {
  for (const std::size_t size : {1UL, 12UL, 60UL}) {
    for (std::size_t a = 0; a < 7; ++a) {
      const std::vector<int> one = greys_of(a, size);
      const auto [dark, light] = std::minmax_element(one.begin(), one.end());
      CHECK(*light - *dark > 30);
      for (std::size_t b = 0; b < a; ++b) {
        CAPTURE(size);
        CAPTURE(a);
        CAPTURE(b);
        // Strokes, not colours, are compared: each against its own lightest pixel.
        const std::vector<int> other = greys_of(b, size);
        const int lightest = *std::max_element(other.begin(), other.end());
        std::size_t differing = 0;
        for (std::size_t i = 0; i < one.size(); ++i) {
          differing += std::abs((*light - one[i]) - (lightest - other[i])) > 30;
        }
        CHECK(differing > one.size() / 20);
      }
    }
  }
}

TEST_CASE("masks of more cells than pixels are drawn in every format") {
  for (const auto format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
    CHECK(drawn(causal(1500), format).bytes.size() > 1000);
  }
}

TEST_CASE("a mask of one key or one query shows each pixel the mean of its cells") {
  // Seen and hidden by turns, so that each pixel is half of each.
  const auto stripes = [](Shape shape) {
    std::vector<std::int64_t> hidden_by(shape[0] * shape[1]);
    for (std::size_t i = 0; i < hidden_by.size(); ++i) hidden_by[i] = i % 2 == 0 ? 0 : causal_part;
    MaskMap mask;
    mask.hidden_by = Tensor(std::move(shape), std::move(hidden_by));
    mask.parts = {"causal"};
    return mask;
  };
  const Picture wide = drawn(stripes({1, 400'000})), tall = drawn(stripes({400'000, 1}));
  const Picture pair = drawn(stripes({1, 2}));
  CHECK_FALSE(wide.bytes == tall.bytes);
  for (const Picture* picture : {&wide, &tall}) CHECK(picture->bytes.size() > 1000);
  CHECK(wide.bytes.size() < 2 * pair.bytes.size());
  CHECK(tall.bytes.size() < 2 * pair.bytes.size());
}

TEST_CASE("what is no mask is refused") {
  const std::string none =
      "there is no mask to draw\n"
      "  help:  give a matrix [queries,keys] of sums of 2^i";
  CHECK(refusal({}) == none);
  MaskMap mask = causal(2);
  mask.hidden_by = Tensor({2, 2}, std::vector<float>{0, 0, 1, 1});
  CHECK(refusal(mask) == none);
  mask.hidden_by = Tensor({4}, std::vector<std::int64_t>{0, 0, 1, 1});
  CHECK(refusal(mask) == none);
  mask = causal(2);
  mask.parts.assign(33, "part");
  CHECK(refusal(mask) == none);
}

TEST_CASE("labels and global cells that do not fit a mask are refused") {
  MaskMap mask = causal(2);
  mask.key_labels = {"one"};
  CHECK(refusal(mask) ==
        "1 labels for 2 rows or columns of the mask\n"
        "  help:  give one label for each, or none");
  mask = causal(2);
  mask.global = Tensor({1, 2}, std::vector<std::uint8_t>{0, 1});
  CHECK(refusal(mask) ==
        "the global cells do not fit the mask\n"
        "  help:  give both the same shape");
}

}  // namespace
