#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/pictures.hpp"

#include "error_from.hpp"
#include "plot/decoded_picture.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;

constexpr const char* three_tokens = R"({"tensors":{
  "weights":[[1,0,0],[0.5,0.5,0],[0.2,0.3,0.5]]},
  "labels":{"query":["the","cat","sat"],"key":["the","cat","sat"]}})";
constexpr const char* two_layers = R"({"tensors":{
  "layers.0.self.weights":[[[[0.5,0.5],[0.25,0.75]]]],
  "layers.1.self.weights":[[[[1,0],[0,1]]]]}})";

PlotRequest animation_of(const TemporaryFolder& folder, const char* result) {
  folder.write("r.json", result);
  PlotRequest request;
  request.kind = PlotKind::animation;
  request.input = folder / "r.json";
  request.options.figure.dpi = 30;
  return request;
}

std::size_t number_at(const std::string& bytes, std::size_t at) {
  std::size_t number = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

// Types and contents of a PNG file's chunks.
std::vector<std::pair<std::string, std::string>> png_chunks(const std::string& png) {
  std::vector<std::pair<std::string, std::string>> chunks;
  for (std::size_t at = 8; at < png.size();) {
    const std::size_t length = number_at(png, at);
    chunks.emplace_back(png.substr(at + 4, 4), png.substr(at + 8, length));
    at += length + 12;
  }
  return chunks;
}

bool has(const Picture& picture, const std::string& text) {
  for (const PictureText& line : picture.texts) {
    if (line.text.find(text) != std::string::npos) return true;
  }
  return false;
}

// Checks the order of an animation's chunks and returns how many frames it has.
std::size_t checked_frames(const std::string& png) {
  std::size_t place = 0, frames = 0, stated = 0;
  for (const auto& [type, content] : png_chunks(png)) {
    if (type == "acTL") stated = number_at(content, 0);
    if (type == "fcTL") ++frames;
    if (type == "fcTL" || type == "fdAT") CHECK(number_at(content, 0) == place++);
  }
  CHECK(stated == frames);
  CHECK(png.ends_with(std::string("IEND\xae\x42\x60\x82")));
  return frames;
}

}  // namespace

TEST_CASE("an animation has a frame for each query, on one range and of one size") {
  const TemporaryFolder folder;
  const PlotRequest request = animation_of(folder, three_tokens);
  const Picture animation = draw(request);
  CHECK(checked_frames(animation.bytes) == 3);
  const std::vector<Picture> frames = draw_frames(request);
  REQUIRE(frames.size() == 3);
  // Readers of plain PNG files show the first frame.
  CHECK(test::decode_png(animation.bytes).rgb == test::decode_png(frames[0].bytes).rgb);
  for (const Picture& frame : frames) {
    CHECK(test::png_size(frame.bytes) == std::pair<double, double>(240, 90));
  }
  CHECK(has(frames[1], "\"cat\" Looks At"));
  CHECK(has(frames[2], "1.0"));
  PlotRequest other_style = request;
  other_style.options.figure.style = PlotStyle::matplotlib;
  CHECK(checked_frames(draw(other_style).bytes) == 3);
}

TEST_CASE(
    "tokens of an animation or a strip fill the size that is asked for, alike in all frames") {
  const TemporaryFolder folder;
  PlotRequest request = animation_of(folder, three_tokens);
  const auto width_of_token = [](const Picture& picture) {
    for (const PictureText& line : picture.texts) {
      if (line.text == "cat") return line.right - line.left;
    }
    return 0.0;
  };
  const double usual = width_of_token(draw_frames(request)[0]);
  CHECK(usual > 0);
  request.options.figure.figsize = {12, 6};
  const std::vector<Picture> frames = draw_frames(request);
  CHECK(width_of_token(frames[0]) > 2 * usual);
  CHECK(width_of_token(frames[2]) == width_of_token(frames[0]));
  request.kind = PlotKind::strip;
  CHECK(width_of_token(draw(request)) < 2 * usual);
  request.options.figure.exact_size = true;
  CHECK(width_of_token(draw(request)) == width_of_token(frames[0]));
}

TEST_CASE("an animation of infinite weights has the range of the finite ones, as heatmaps have") {
  const TemporaryFolder folder;
  const PlotRequest request =
      animation_of(folder, R"({"tensors":{"weights":[[1,"inf"],["nan",0.5]]}})");
  CHECK(checked_frames(draw(request).bytes) == 2);
  const std::vector<Picture> frames = draw_frames(request);
  CHECK(has(frames[0], "1.0"));
  CHECK(has(frames[0], "∞"));
  CHECK(has(frames[1], "NaN"));
  const PlotRequest stack = animation_of(folder, R"({"tensors":{
    "layers.0.self.weights":[[[[0.5,"inf"],[0.25,0.75]]]],
    "layers.1.self.weights":[[[["inf","inf"],["inf","inf"]]]]}})");
  CHECK(checked_frames(draw(stack).bytes) == 2);
}

TEST_CASE("an animation of a stack shows its layers, and one of a chosen layer its queries") {
  const TemporaryFolder folder;
  PlotRequest request = animation_of(folder, two_layers);
  CHECK(checked_frames(draw(request).bytes) == 2);
  CHECK(has(draw_frames(request)[1], "Layer 1"));
  request.maps.selection.layers = {{PositionRange{1, 2}}};
  CHECK(has(draw_frames(request)[1], "What Query 1 Looks At"));
}

TEST_CASE("frames are written with numbers of one length, in the format that is asked for") {
  const TemporaryFolder folder;
  PlotRequest request = animation_of(folder, three_tokens);
  request.format = PictureFormat::svg;
  const std::vector<Picture> three = draw_frames(request);
  std::vector<Picture> frames;
  for (int i = 0; i < 4; ++i) frames.insert(frames.end(), three.begin(), three.end());
  const auto files = write_frames(frames, request.format, folder / "frames");
  REQUIRE(files.size() == 12);
  CHECK(files[0] == folder / "frames" / "frame-01.svg");
  CHECK(read_text(files[11]) == three[2].bytes);
}

TEST_CASE("an animation is a PNG file, of no more frames than can be watched") {
  const TemporaryFolder folder;
  PlotRequest request = animation_of(folder, three_tokens);
  request.format = PictureFormat::pdf;
  CHECK(error_from([&] { draw(request); }, ErrorKind::usage) ==
        "an animation is a PNG file\n"
        "  where: PlotRequest::format\n"
        "  help:  name a file that ends in .png, or a folder for its frames");
  request.format = PictureFormat::png;
  std::string rows;
  for (int i = 0; i < 501; ++i) rows += rows.empty() ? "[1]" : ",[1]";
  folder.write("r.json", R"({"tensors":{"weights":[)" + rows + "]}}");
  CHECK(error_from([&] { draw(request); }) ==
        "an animation of 501 frames\n"
        "  where: MapSelection::queries\n"
        "  help:  choose at most 500 queries or layers");
}
