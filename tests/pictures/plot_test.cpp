#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/pictures.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;

using Names = std::vector<std::string>;

constexpr const char* small_result = R"({"tensors":{
  "weights":[[0.2,0.8],[0.5,0.5]],"scores":[[1,2],[3,4]],"masked":[[1,2],[3,4]],
  "allowed":[[true,true],[true,true]],
  "output":[[1,2,3,4,5,6],[7,8,9,10,11,12]],"embedded":[[1,2],[3,4],[5,6]],
  "batch":[[[1,2]],[[3,4]],[[5,6]]],"heads":[[[[1,2,3]],[[4,5,6]]]],
  "x_weights":[[1,2,3],[4,5,6]]},
  "labels":{"query":["a","##b"],"key":["c","##d"]}})";

PlotRequest request_for(const TemporaryFolder& folder, const std::string& name) {
  folder.write("r.json", small_result);
  PlotRequest request;
  request.input = folder / "r.json";
  request.maps.name = name;
  return request;
}

std::vector<double> numbers_of(const Heatmap& heatmap) {
  const auto numbers = heatmap.weights.values<double>();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

TEST_CASE("a tensor that is no map keeps the query labels that fit its rows and no key labels") {
  const TemporaryFolder folder;
  const Heatmap output = read_heatmap(request_for(folder, "output"));
  CHECK(output.title == "output");
  CHECK(output.query_labels == Names{"a", "##b"});
  CHECK(output.key_labels == Names{"0", "1", "2", "3", "4", "5"});
  const Heatmap embedded = read_heatmap(request_for(folder, "embedded"));
  CHECK(embedded.query_labels == Names{"0", "1", "2"});
  CHECK(embedded.key_labels == Names{"0", "1"});
}

TEST_CASE("labels given beside a result do not name the columns of what is no map either") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder, "output");
  folder.write("l.json", R"({"query":["x","y"],"key":["z"]})");
  request.maps.labels = folder / "l.json";
  request.maps.selection.keys = PositionRange{4, 6};
  const Heatmap heatmap = read_heatmap(request);
  CHECK(heatmap.query_labels == Names{"x", "y"});
  CHECK(heatmap.key_labels == Names{"4", "5"});
}

TEST_CASE("a part of a tensor that is no map keeps the labels and numbers of that part") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder, "output");
  request.maps.selection.queries = PositionRange{1, std::nullopt};
  request.maps.selection.keys = PositionRange{4, 6};
  const Heatmap heatmap = read_heatmap(request);
  CHECK(numbers_of(heatmap) == std::vector<double>{11, 12});
  CHECK(heatmap.query_labels == Names{"##b"});
  CHECK(heatmap.key_labels == Names{"4", "5"});
}

TEST_CASE("a tensor that is no map may have more samples than there are lists of labels") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder, "batch");
  folder.write("l.json", R"({"query":[["x"],["y"]],"key":[["c"],["d"]]})");
  request.maps.labels = folder / "l.json";
  request.sample = 1;
  CHECK(read_heatmap(request).query_labels == Names{"y"});
  request.sample = 2;
  CHECK(read_heatmap(request).query_labels == Names{"0"});
}

TEST_CASE("what only keys can have is refused for a tensor that is no map") {
  const TemporaryFolder folder;
  const PlotRequest plain = request_for(folder, "output");
  PlotRequest merged = plain, dropped = plain, renormalized = plain;
  merged.maps.selection.merge_pieces = true;
  dropped.maps.selection.drop_first = 1;
  renormalized.maps.selection.renormalize = true;
  for (PlotRequest request : {merged, dropped, renormalized}) {
    const std::string refusal =
        "\"output\" has no keys\n  where: MapRequest::name\n"
        "  help:  leave out MapSelection::drop_first, MapSelection::drop, "
        "MapSelection::renormalize and MapSelection::merge_pieces, or say with "
        "MapRequest::axes that it is a map";
    CHECK(error_from([&] { read_heatmap(request); }) == refusal);
    CHECK(error_from([&] { draw(request); }) == refusal);
    request.kind = PlotKind::comparison;
    request.maps.others = {request.input};
    CHECK(error_from([&] { draw(request); }) == refusal);
  }
}

TEST_CASE("kinds of pictures that need queries and keys refuse a tensor that is no map") {
  const TemporaryFolder folder;
  for (const char* name : {"output", "x_weights"}) {
    for (const PlotKind kind :
         {PlotKind::lines, PlotKind::grid, PlotKind::stages, PlotKind::mask}) {
      PlotRequest request = request_for(folder, name);
      request.kind = kind;
      request.maps.selection.keys = PositionRange{2, 3};
      CHECK(error_from([&] { draw(request); }) ==
            "\"" + std::string(name) +
                "\" is not a map of queries and keys\n  where: MapRequest::name\n"
                "  help:  draw it as a heatmap, or say with MapRequest::axes that it is a map");
    }
  }
}

TEST_CASE("a name that only ends like that of weights has no mask") {
  const TemporaryFolder folder;
  const Heatmap heatmap = read_heatmap(request_for(folder, "x_weights"));
  CHECK(!heatmap.allowed);
  CHECK(numbers_of(heatmap) == std::vector<double>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("a comparison takes all heads of a tensor that is no map") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder, "heads");
  request.kind = PlotKind::comparison;
  folder.write("other.json", small_result);
  request.maps.others = {folder / "other.json"};
  request.maps.selection.heads = MapSelection::Shown::all;
  Names texts;
  for (const PictureText& text : draw(request).texts) texts.push_back(text.text);
  for (const char* text : {"r: Head 1", "other: Head 2", "Dimension", "Position", "Value"}) {
    CAPTURE(std::string(text));
    CHECK(std::find(texts.begin(), texts.end(), text) != texts.end());
  }
}

TEST_CASE("a heatmap of all heads of a tensor that is no map shows them side by side") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder, "heads");
  request.maps.selection.heads = MapSelection::Shown::all;
  Names texts;
  for (const PictureText& text : draw(request).texts) texts.push_back(text.text);
  for (const char* text : {"heads", "Head 1", "Head 2", "Dimension", "Position", "Value"}) {
    CAPTURE(std::string(text));
    CHECK(std::find(texts.begin(), texts.end(), text) != texts.end());
  }
  request.maps.name = "output";
  texts.clear();
  for (const PictureText& text : draw(request).texts) texts.push_back(text.text);
  CHECK(std::find(texts.begin(), texts.end(), "output") != texts.end());
  CHECK(std::find(texts.begin(), texts.end(), "Head 1") == texts.end());
}

namespace {

Names texts_of(const Picture& picture) {
  Names texts;
  for (const PictureText& text : picture.texts) texts.push_back(text.text);
  return texts;
}

bool has(const Names& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// Two layers of four heads that share two key and value heads.
PlotRequest layers_request(const TemporaryFolder& folder) {
  const std::string head = "[[0.2,0.8],[0.5,0.5]]";
  const std::string map = "[[" + head + "," + head + "," + head + "," + head + "]]";
  folder.write("r.json", R"({"title":"Two layers","shapes":{"query":[1,4,2,8],"key":[1,2,2,8]},
    "tensors":{"layers.0.self.weights":)" +
                             map + R"(,"layers.0.cross.weights":)" + map +
                             R"(,"layers.1.self.weights":)" + map + "}}");
  PlotRequest request;
  request.input = folder / "r.json";
  request.kind = PlotKind::grid;
  return request;
}

}  // namespace

TEST_CASE("a grid of a result with layers shows all of one sort, and a warning names the others") {
  const TemporaryFolder folder;
  const Picture picture = draw(layers_request(folder));
  const Names texts = texts_of(picture);
  for (const char* text : {"Two layers", "(Self-Attention)", "Layer 0", "Layer 1", "Head 3"}) {
    CAPTURE(std::string(text));
    CHECK(has(texts, text));
  }
  CHECK(picture.frames.size() == 8 + 1);
  REQUIRE(picture.warnings.size() == 1);
  CHECK(picture.warnings[0] ==
        "the picture leaves out \"layers.0.cross.weights\": name one of them to draw it");
}

TEST_CASE("a grid of one tensor that is named shows that layer alone") {
  const TemporaryFolder folder;
  PlotRequest request = layers_request(folder);
  request.maps.name = "layers.0.cross.weights";
  const Picture picture = draw(request);
  CHECK(picture.warnings.empty());
  CHECK(std::ranges::any_of(texts_of(picture), [](const std::string& text) {
    return text.ends_with("(Layer 0, Cross-Attention, 4 Heads)");
  }));
  CHECK(picture.frames.size() == 4 + 1);
}

TEST_CASE("heads that share a key and value head are bracketed with its name") {
  const TemporaryFolder folder;
  PlotRequest request = layers_request(folder);
  request.options.figure.figsize = {12, 6};
  const Names texts = texts_of(draw(request));
  CHECK(has(texts, "Key/Value Head 0"));
  CHECK(has(texts, "Key/Value Head 1"));
}

TEST_CASE("numbers that are called weights but whose rows do not sum to 1 are values") {
  const TemporaryFolder folder;
  PlotRequest request;
  request.format = PictureFormat::svg;
  request.input = folder / "w.json";
  folder.write("w.json", R"({"weights": [[0.001, 0.0065], [0.002, 0.003]]})");
  for (const PlotKind kind : {PlotKind::heatmap, PlotKind::grid}) {
    request.kind = kind;
    const Names texts = texts_of(draw(request));
    CHECK(has(texts, "Value"));
    CHECK(has(texts, "weights (Sample 1, Head 1)") == (kind == PlotKind::heatmap));
  }
  folder.write("w.json", R"({"weights": [[0.25, 0.75], [0.5, 0.5]]})");
  CHECK(has(texts_of(draw(request)), "Attention weight"));
}

TEST_CASE("stages with NaN have no panel of a softcap that there is not") {
  const TemporaryFolder folder;
  folder.write("r.json", R"({"tensors":{"weights":[["nan","nan"]],"scores":[["nan",1]],
    "capped":[["nan",1]],"masked":[["nan",1]]}})");
  PlotRequest request;
  request.input = folder / "r.json";
  request.kind = PlotKind::stages;
  CHECK_FALSE(has(texts_of(draw(request)), "Capped"));
}

TEST_CASE("a comparison keeps the title that its files have in common") {
  const TemporaryFolder folder;
  PlotRequest request = layers_request(folder);
  request.kind = PlotKind::comparison;
  request.maps.others = {request.input};
  CHECK(has(texts_of(draw(request)), "Two layers (Layer 0, Self-Attention, Head 0)"));
}

TEST_CASE("a comparison of files without titles says what it shows") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder, "weights");
  request.kind = PlotKind::comparison;
  request.maps.others = {request.input};
  CHECK(has(texts_of(draw(request)), "Attention Weights (Sample 1, Head 1)"));
  request.maps.name = "scores";
  CHECK(has(texts_of(draw(request)), "scores (Sample 1, Head 1)"));
}

TEST_CASE("few large bins do not make all others pale: an arrow at the bar stands for them") {
  const TemporaryFolder folder;
  std::string rows;
  for (int i = 0; i < 50; ++i) {
    rows += rows.empty() ? "[" : ",[";
    for (int j = 0; j < 50; ++j) {
      rows += (j == 0 ? "" : ",") + std::string(i == 0 && j == 0 ? "0.9" : i % 2 ? "0.02" : "0.01");
    }
    rows += "]";
  }
  folder.write("r.json", R"({"tensors":{"pooled_weights":[)" + rows + "]}}");
  PlotRequest request;
  request.input = folder / "r.json";
  request.maps.name = "pooled_weights";
  CHECK(draw(request).description.find("Values from 0.01 to 0.9, coloured from 0 to 0.02.") !=
        std::string::npos);
  request.options.colors.range = {ColorRange::Scope::given, 0, 1};
  CHECK(draw(request).description.find("coloured from 0 to 1.") != std::string::npos);
}

TEST_CASE(
    "a first key that takes the weight away from many others is mentioned, with the way out") {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& first, const std::string& other) {
    std::string row = "[" + first;
    for (int j = 1; j < 30; ++j) row += "," + other;
    row += "]";
    folder.write("r.json", R"({"weights":[)" + row + "," + row + "]}");
    PlotRequest request;
    request.input = folder / "r.json";
    request.options.figure.dpi = 30;
    return draw(request).warnings;
  };
  CHECK(warnings("0.71", "0.01") ==
        Names{"the first key gets more than 0.3 of the weight on average, so that the others look "
              "alike: ColorOptions::norm log shows their differences, MapSelection::drop_first 1 "
              "leaves "
              "it out"});
  CHECK(warnings("0.13", "0.03").empty());
}

TEST_CASE("sums are drawn beside one map, and refused beside several") {
  const TemporaryFolder folder;
  folder.write("r.json", R"({"weights":[[[[1,0],[0.5,0.5]],[[0,1],[1,0]]]]})");
  PlotRequest request;
  request.input = folder / "r.json";
  request.options.figure.dpi = 30;
  request.options.marginals = true;
  CHECK(draw(request).warnings ==
        Names{"this is head 0 of 2: MapSelection::chosen_heads 1 shows another, mean their mean; "
              "pictures also take all"});
  request.maps.selection.heads = MapSelection::Shown::all;
  CHECK(error_from([&] { draw(request); }, ErrorKind::usage) ==
        "PlotOptions::marginals is for one map, not for several side by side\n"
        "  where: PlotOptions::marginals\n"
        "  help:  leave it out, or choose one with MapSelection::chosen_samples and "
        "MapSelection::chosen_heads");
}

TEST_CASE("names that fit no axis of a map, and maps that are None, are told beside the picture") {
  const TemporaryFolder folder;
  PlotRequest request;
  request.input =
      folder.write("r.json", R"({"weights":[[0.5,0.5],[0.2,0.8]],"tokens":["a","b","c"]})");
  CHECK(draw(request).warnings ==
        Names{"no names are drawn: \"tokens\" has 3 of them, for 2 queries and 2 keys"});
  request.input = folder.write("r.json", R"({"weights":[[0.5,0.5],[0.2,0.8]],"tokens":["a","b"]})");
  CHECK(draw(request).warnings.empty());
  request.input = std::string(ATTN_TEST_DATA) + "/io/files/pickles/numpy_2.pkl";
  request.maps.name = "o.0";
  const Names told = draw(request).warnings;
  CHECK(std::ranges::count(told, "not drawn, as they are None: \"o.1\"") == 1);
}
