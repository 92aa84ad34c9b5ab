#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/plot.hpp"

#include "error_from.hpp"
#include "plot/decoded_picture.hpp"

namespace {

using namespace attn;
using test::decode_png;
using test::DecodedPicture;

// A picture of 8 × 8 pixels in 2 × 2 patches, whose left half is black and whose right half is
// white but for a black line through column 5.
PictureOverlay example() {
  std::vector<float> pixels(3 * 64);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t column = i % 8;
    pixels[i] = column < 4 || column == 5 ? 0 : 1;
  }
  PictureOverlay overlay;
  overlay.image = Tensor({3, 8, 8}, std::move(pixels));
  overlay.patch = 4;
  PictureOverlay::Panel& panel = overlay.panels.emplace_back();
  panel.patches.weights = Tensor({2, 2}, std::vector<double>{0.0, 0.04, 0.02, 0.01});
  panel.others = {0.93};
  overlay.other_names = {"[CLS]"};
  overlay.query = 0;
  return overlay;
}

OverlayOptions small() {
  OverlayOptions options;
  options.figure.dpi = 50;
  return options;
}

bool has_text(const Picture& picture, const std::string& wanted) {
  return std::any_of(picture.texts.begin(), picture.texts.end(),
                     [&](const PictureText& text) { return text.text == wanted; });
}

// The colours on a level line through the frame of the picture.
std::vector<std::array<int, 3>> line_through(const Picture& picture, double height) {
  const DecodedPicture decoded = decode_png(picture.bytes);
  const PictureFrame& frame = picture.frames.at(0);
  const auto y = static_cast<std::size_t>(frame.top + height * (frame.bottom - frame.top));
  std::vector<std::array<int, 3>> line;
  for (auto x = static_cast<std::size_t>(frame.left) + 2;
       x + 2 < static_cast<std::size_t>(frame.right); ++x) {
    const auto* pixel = decoded.at(x, y);
    line.push_back({pixel[0], pixel[1], pixel[2]});
  }
  return line;
}

int brightness(const std::array<int, 3>& colour) {
  return colour[0] + colour[1] + colour[2];
}

}  // namespace

TEST_CASE("an overlay keeps what is finer than a patch, and tints by weight") {
  const auto upper = line_through(draw_overlay(example(), small(), PictureFormat::png), 0.25);
  const std::size_t pixel = upper.size() / 8;
  // The line through the white half is darker than the pixels beside it, which have its weight.
  const int line = brightness(upper[pixel * 5 + pixel / 2]);
  CHECK(line + 60 < brightness(upper[pixel * 4 + pixel / 2]));
  CHECK(line + 60 < brightness(upper[pixel * 6 + pixel / 2]));
  // A black patch of no weight is darker than the black line under the largest weight.
  CHECK(brightness(upper[pixel]) + 100 < line);
}

TEST_CASE(
    "the colour bar of an overlay ends at the largest patch, and other tokens lie beyond it") {
  const Picture picture = draw_overlay(example(), small(), PictureFormat::png);
  CHECK(has_text(picture, "0.040"));
  CHECK_FALSE(has_text(picture, "0.045"));
  CHECK(has_text(picture, "[CLS] 0.930"));
}

TEST_CASE("squares of an overlay have one colour a patch, smooth ones change evenly") {
  PictureOverlay overlay = example();
  overlay.image = Tensor({3, 8, 8}, std::vector<float>(3 * 64, 0.5F));
  OverlayOptions options = small();
  const auto colours = [&] {
    const auto line = line_through(draw_overlay(overlay, options, PictureFormat::png), 0.25);
    return std::set<std::array<int, 3>>(line.begin(), line.end()).size();
  };
  CHECK(colours() == 2);
  options.smooth = true;
  CHECK(colours() > 20);
}

TEST_CASE("the asked query of an overlay has a frame of white around black") {
  PictureOverlay overlay = example();
  overlay.image = Tensor({3, 8, 8}, std::vector<float>(3 * 64, 0.5F));
  const auto count_white = [&] {
    const auto line = line_through(draw_overlay(overlay, small(), PictureFormat::png), 0.75);
    return std::count(line.begin(), line.end(), std::array<int, 3>{255, 255, 255});
  };
  CHECK(count_white() == 0);
  overlay.query = 1 + 2;  // the first patch of the second row
  CHECK(count_white() >= 1);
}

TEST_CASE("vector files embed the picture with its own pixels") {
  const std::string svg = draw_overlay(example(), small(), PictureFormat::svg).bytes;
  CHECK(svg.find("<image") != std::string::npos);
  CHECK(svg.find("data:image/png;base64,") != std::string::npos);
  const std::string pdf = draw_overlay(example(), small(), PictureFormat::pdf).bytes;
  CHECK(pdf.find("/Width 8") != std::string::npos);
  CHECK(pdf.find("/Height 8") != std::string::npos);
}

TEST_CASE(
    "panels of an overlay stand in rows with their titles, and share one bar or have their own") {
  PictureOverlay overlay = example();
  overlay.panels.resize(4, overlay.panels[0]);
  overlay.columns = 2;
  overlay.row_titles = {"Layer 0", "Layer 1"};
  for (std::size_t i = 0; i < 4; ++i) {
    overlay.panels[i].patches.title = i % 2 == 0 ? "Head 0" : "Head 1";
  }
  OverlayOptions options = small();
  const Picture shared = draw_overlay(overlay, options, PictureFormat::png);
  CHECK(shared.frames.size() == 5);
  CHECK(has_text(shared, "Layer 1"));
  CHECK(has_text(shared, "Head 1"));
  options.colors.range.scope = ColorRange::Scope::panel;
  CHECK(draw_overlay(overlay, options, PictureFormat::png).frames.size() == 8);
}

TEST_CASE("an overlay says in words how large the picture is and what its colours mean") {
  CHECK(draw_overlay(example(), small(), PictureFormat::png).description ==
        "A picture of 8 × 8 pixels in 2 × 2 patches, tinted by weight. Values from 0 to 0.04, "
        "coloured from 0 to 0.04.");
}

TEST_CASE("weights that do not fit the picture of an overlay are refused") {
  PictureOverlay overlay = example();
  overlay.patch = 5;
  CHECK(error_from([&] { draw_overlay(overlay, small(), PictureFormat::png); }) ==
        "weights of the shape [2,2] do not fit a picture of 8 × 8 pixels in patches of 5 × 5\n"
        "  help:  give one weight for each patch and each other token");
  overlay.panels.clear();
  CHECK(error_from([&] { draw_overlay(overlay, small(), PictureFormat::png); }) ==
        "there are no weights to draw\n"
        "  help:  give at least one panel");
  overlay.image = Tensor({1, 8, 8}, std::vector<float>(64, 0));
  CHECK(error_from([&] { draw_overlay(overlay, small(), PictureFormat::png); }) ==
        "the picture has the shape [1,8,8]\n"
        "  help:  give [3, height, width]");
}
