#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "attn/pictures.hpp"
#include "attn/run.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;

// Pictures in 4 × 4 patches with texts, and a picture with registers before its patches.
const std::filesystem::path models = std::filesystem::path(ATTN_TEST_DATA) / "models" / "pictures";
constexpr const char* clip = "clip_two_pictures_three_texts";
constexpr const char* registers = "dinov2_registers_antialiased";

RunOptions options_for(const TemporaryFolder& folder, const char* model) {
  RunOptions options;
  options.document.input = models / model / "input.json";
  options.out = folder / "r";
  options.plots = {PlotKind::overlay};
  options.plot.figure.dpi = 40;
  return options;
}

PlotRequest request_for(const TemporaryFolder& folder) {
  PlotRequest request;
  request.kind = PlotKind::overlay;
  request.input = folder / "r";
  request.options.figure.dpi = 40;
  return request;
}

std::string words(const Picture& picture) {
  std::string all;
  for (const PictureText& text : picture.texts) all += text.text + "\n";
  return all;
}

bool has(const std::string& all, const std::string& part) {
  return all.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "run draws an overlay for each layer that sees pictures, and plot the same of its result") {
  const TemporaryFolder folder;
  run(options_for(folder, clip));
  CHECK_FALSE(std::filesystem::exists(folder / "r" / "overlay.text.layers.0.self.png"));
  PlotRequest request = request_for(folder);
  CHECK(draw(request).bytes == read_text(folder / "r" / "overlay.layers.0.self.png"));
  request.maps.selection.layers = {{PositionRange{1, 2}}};
  CHECK(draw(request).bytes == read_text(folder / "r" / "overlay.layers.1.self.png"));
}

TEST_CASE(
    "an overlay shows what [CLS] looks at, with registers as other tokens beside the picture") {
  const TemporaryFolder folder;
  run(options_for(folder, registers));
  const std::string texts = words(draw(request_for(folder)));
  CHECK(has(texts, "What [CLS] Looks At"));
  CHECK(has(texts, "[CLS] 0."));
  CHECK(has(texts, "[REG1] 0."));
}

TEST_CASE("the query of an overlay is named by row and column, by a token or by its position") {
  const TemporaryFolder folder;
  run(options_for(folder, clip));
  PlotRequest request = request_for(folder);
  const auto title = [&](const std::string& query) {
    request.maps.selection.query = query;
    return words(draw(request));
  };
  CHECK(has(title("2,3"), "What Patch 2,3 Looks At"));
  CHECK(title("2,3") == title("12"));
  CHECK(title("[CLS]") == title("0"));
  CHECK(error_from([&] { title("4,0"); }) ==
        "no query is called \"4,0\"\n"
        "  where: MapSelection::query\n"
        "  help:  give a row from 0 to 3 and a column from 0 to 3, such as 3,3");
  CHECK(error_from([&] { title("17"); }) ==
        "there is no query 17 among 17 queries\n"
        "  where: MapSelection::query\n"
        "  help:  give 0 to 16");
}

TEST_CASE(
    "layers with merged patches and other heads are panels of one grid, each its heads' mean") {
  const TemporaryFolder folder;
  RunOptions options = options_for(folder, "swin_shifted_windows");
  options.plots = {PlotKind::grid, PlotKind::overlay};
  run(options);
  PlotRequest request = request_for(folder);
  request.kind = PlotKind::grid;
  const std::string texts = words(draw(request));
  CHECK(has(texts, "(mean of each layer's heads)"));
  CHECK(has(texts, "Layer 0, Self-Attention\n"));
  CHECK(has(texts, "Layer 2, Self-Attention\n"));
  // Patches of each layer have names of its own.
  request.kind = PlotKind::overlay;
  request.maps.selection.query = "1,1";
  for (const std::int64_t layer : {0, 2}) {
    request.maps.selection.layers = {{PositionRange{layer, layer + 1}}};
    CHECK(has(words(draw(request)), "What Patch 1,1 Looks At"));
  }
  request.maps.selection.query = "3,3";
  CHECK(error_from([&] { draw(request); }) ==
        "no query is called \"3,3\"\n"
        "  where: MapSelection::query\n"
        "  help:  give a row from 0 to 1 and a column from 0 to 1, such as 1,1");
}

TEST_CASE("a chosen query is one row of a heatmap too") {
  const TemporaryFolder folder;
  run(options_for(folder, clip));
  PlotRequest request = request_for(folder);
  request.kind = PlotKind::heatmap;
  request.maps.selection.query = "2,3";
  const Heatmap map = read_heatmap(request);
  CHECK(map.weights.shape() == Shape{1, 17});
  CHECK(map.query_labels == std::vector<std::string>{"2,3"});
}

TEST_CASE("heads of an overlay stand side by side or are taken together, less some keys") {
  const TemporaryFolder folder;
  run(options_for(folder, clip));
  PlotRequest request = request_for(folder);
  MapSelection& selection = request.maps.selection;
  selection.heads = MapSelection::Shown::all;
  CHECK(has(words(draw(request)), "Head 1\n"));
  selection.heads = MapSelection::Shown::max;
  CHECK(has(words(draw(request)), "Largest of 2 Heads"));
  selection.drop = {"[CLS]"};
  selection.renormalize = true;
  CHECK_FALSE(has(words(draw(request)), "[CLS] 0."));
}

TEST_CASE("a grid of a model of pictures is its overlays, layers × heads") {
  const TemporaryFolder folder;
  RunOptions options = options_for(folder, clip);
  options.plots = {PlotKind::grid};
  run(options);
  PlotRequest request = request_for(folder);
  request.kind = PlotKind::grid;
  const Picture grid = draw(request);
  CHECK(grid.bytes == read_text(folder / "r" / "grid.png"));
  CHECK(grid.frames.size() == 5);
  CHECK(has(words(grid), "Layer 1"));
  CHECK(has(grid.description, "in 4 × 4 patches"));
}

TEST_CASE("the sample of an overlay chooses the picture and its weights") {
  const TemporaryFolder folder;
  run(options_for(folder, clip));
  PlotRequest request = request_for(folder);
  const std::string first = draw(request).bytes;
  request.sample = 1;
  CHECK(draw(request).bytes != first);
}

TEST_CASE("an overlay without a picture is refused, and left out where all kinds are asked for") {
  const TemporaryFolder folder;
  RunOptions options = options_for(folder, clip);
  options.document.input = std::filesystem::path(ATTN_DATA) / "self.json";
  CHECK(error_from([&] { run(options); }, ErrorKind::usage) ==
        "there is no picture to draw the weights over\n"
        "  where: RunOptions::plots\n"
        "  help:  leave out overlay, or give a model of pictures and DocumentOptions::images");
  options.plots.clear();
  for (const PlotKindInfo& info : plot_kinds()) {
    if (info.of_runs) options.plots.push_back(info.kind);
  }
  run(options);
  CHECK_FALSE(std::filesystem::exists(folder / "r" / "overlay.png"));
  CHECK(error_from([&] { draw(request_for(folder)); }) ==
        "there is no picture under these weights\n"
        "  where: " +
            (folder / "r" / "result.json").string() +
            "\n"
            "  help:  give the result of a model that reads pictures, with its tensors \"image\" "
            "and \"grid\", or a picture with PlotRequest::image");
}

TEST_CASE("a patch of maps without labels is named and framed by its row and column") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder);
  std::string row = "[";
  for (int key = 0; key < 17; ++key) row += key == 0 ? "0.2" : ",0.05";
  row += "]";
  std::string rows;
  for (int query = 0; query < 17; ++query) rows += (query == 0 ? "" : ",") + row;
  request.input = folder.write("maps.json", "{\"weights\":[" + rows + "]}");
  request.image = std::filesystem::path(ATTN_DATA) / "shapes" / "blue_star.png";
  request.grid = {4, 4};
  request.maps.selection.query = "1,2";
  const Picture asked = draw(request);
  CHECK(has(words(asked), "What Patch 1,2 Looks At"));
  // All rows are equal: only the frame of the patch that asks is in another place.
  request.maps.selection.query = "2,2";
  request.options.figure.title = "";
  const std::string other = draw(request).bytes;
  request.maps.selection.query = "1,2";
  CHECK(draw(request).bytes != other);
}
