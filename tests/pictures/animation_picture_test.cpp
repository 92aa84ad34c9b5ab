#include <algorithm>
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
  CHECK(width_of_token(frames[0]) > 1.5 * usual);
  CHECK(width_of_token(frames[2]) == width_of_token(frames[0]));
  request.kind = PlotKind::strip;
  CHECK(width_of_token(draw(request)) < 1.5 * usual);
  request.options.figure.exact_size = true;
  CHECK(width_of_token(draw(request)) == width_of_token(frames[0]));
}

TEST_CASE("nothing of an animation moves though masks hide other keys from each query") {
  const TemporaryFolder folder;
  const std::vector<Picture> frames = draw_frames(animation_of(folder, R"({"tensors":{
    "weights":[[1,0,0],[0.5,0.5,0],[0.2,0.3,0.5]],
    "allowed":[[true,false,false],[true,true,false],[true,true,true]]},
    "labels":{"query":["the","cat","sat"],"key":["the","cat","sat"]}})"));
  REQUIRE(frames.size() == 3);
  const auto in_all = [&](const PictureText& text, const Picture& frame) {
    return std::ranges::any_of(frame.texts, [&](const PictureText& other) {
      return other.text == text.text && other.x == doctest::Approx(text.x) &&
             other.y == doctest::Approx(text.y);
    });
  };
  const auto place_of = [](const Picture& frame, const std::string& part) {
    for (const PictureText& text : frame.texts) {
      if (text.text.find(part) != std::string::npos) return std::pair(text.x, text.y);
    }
    return std::pair(0.0, 0.0);
  };
  CHECK(has(frames[0], "hidden"));
  for (const Picture& frame : frames) {
    REQUIRE(frame.frames.size() == frames[0].frames.size());
    CHECK(frame.frames[0].left == doctest::Approx(frames[0].frames[0].left));
    CHECK(frame.frames[0].top == doctest::Approx(frames[0].frames[0].top));
    CHECK(place_of(frame, "Looks At").second ==
          doctest::Approx(place_of(frames[0], "Looks At").second));
    for (const PictureText& text : frames[0].texts) {
      if (text.text.find("Looks At") != std::string::npos) continue;
      CHECK_MESSAGE(in_all(text, frame), text.text);
    }
  }
  // The marks of even weights have one form, in one column.
  REQUIRE(has(frames[1], "1/2 uniform"));
  REQUIRE(has(frames[2], "1/3 uniform"));
  CHECK(place_of(frames[1], "uniform").first ==
        doctest::Approx(place_of(frames[2], "uniform").first));
}

TEST_CASE("layers of an animation have the key of all layers, so that their maps are of one size") {
  const TemporaryFolder folder;
  const std::vector<Picture> layers = draw_frames(animation_of(folder, R"({"tensors":{
    "layers.0.self.weights":[[[["nan",0.5],[0.25,0.75]]]],
    "layers.1.self.weights":[[[[1,0],[0,1]]]]}})"));
  REQUIRE(layers.size() == 2);
  CHECK(has(layers[1], "NaN"));
  REQUIRE(layers[1].frames.size() == layers[0].frames.size());
  for (std::size_t i = 0; i < layers[0].frames.size(); ++i) {
    CHECK(layers[1].frames[i].left == doctest::Approx(layers[0].frames[i].left));
    CHECK(layers[1].frames[i].bottom == doctest::Approx(layers[0].frames[i].bottom));
  }
}

TEST_CASE("tokens that fill a size stay in one line, in letters of 1.5 times the title's at most") {
  const TemporaryFolder folder;
  const auto words_and_title = [&](int count) {
    std::string weights, labels;
    for (int i = 0; i < count; ++i) {
      weights += i == 0 ? "0.1" : ",0.1";
      labels += i == 0 ? R"("Hall")" : R"(,"Hall")";
    }
    PlotRequest request = animation_of(folder, (R"({"tensors":{"weights":[[)" + weights +
                                                R"(]]},"labels":{"key":[)" + labels + "]}}")
                                                   .c_str());
    request.options.figure.figsize = {10, 5.6};
    request.options.figure.title = "Hall";
    const auto frames = draw_frames(request);
    std::vector<PictureText> found;
    for (const PictureText& text : frames[0].texts) {
      if (text.text == "Hall") found.push_back(text);
    }
    return found;
  };
  const std::vector<PictureText> many = words_and_title(12), few = words_and_title(4);
  REQUIRE(many.size() == 13);
  for (std::size_t i = 0; i < 12; ++i) CHECK(many[i].y == doctest::Approx(many[0].y));
  REQUIRE(few.size() == 5);
  const auto height = [](const PictureText& text) { return text.bottom - text.top; };
  CHECK(height(few[0]) > height(few[4]));
  CHECK(height(few[0]) <= 1.55 * height(few[4]));
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
