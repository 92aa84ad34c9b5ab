#include "maps/filed_maps.hpp"

#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"
#include "attn/pictures.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

namespace {

using namespace attn;

// Two queries and keys; every number of a map tells which one it is: `share` and what is left.
std::vector<double> rows(double share) {
  return {share, 1 - share, 1 - share, share};
}

// [layers,1,heads,2,2], the share of layer l and head h being 0.1·l + 0.01·h.
Tensor stack(std::size_t layers, std::size_t heads) {
  std::vector<double> numbers;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      for (const double number :
           rows(0.1 * static_cast<double>(layer) + 0.01 * static_cast<double>(head))) {
        numbers.push_back(number);
      }
    }
  }
  return Tensor({layers, 1, heads, 2, 2}, std::move(numbers));
}

Tensor layer(std::size_t number) {
  const auto share = 0.1 * static_cast<double>(number);
  return Tensor({1, 1, 2, 2}, rows(share));
}

std::string npz_of(const std::vector<std::string>& names, const std::vector<std::size_t>& numbers) {
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < names.size(); ++i) tensors.push_back({names[i], layer(numbers[i])});
  return npz_bytes(tensors);
}

PlotRequest request_for(const std::filesystem::path& path) {
  PlotRequest request;
  request.input = path;
  return request;
}

MapFiles files_of(const PlotRequest& request) {
  return map_files(std::make_shared<ResultReader>(request.input), request.maps);
}

std::vector<AttentionMap> chosen(const PlotRequest& request) {
  return FiledMaps(files_of(request), request.maps).chosen();
}

// The first share of each layer that is chosen.
std::vector<double> shares(const PlotRequest& request) {
  std::vector<double> found;
  for (const AttentionMap& map : chosen(request)) {
    found.push_back(map.numbers.converted(DType::float64).values<double>()[0]);
  }
  return found;
}

std::vector<std::string> places(const PlotRequest& request) {
  std::vector<std::string> found;
  for (const AttentionMap& map : chosen(request)) {
    found.push_back(map.place);
  }
  return found;
}

PositionRange one(std::int64_t number) {
  return {number, number + 1};
}

using Shares = std::vector<double>;
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("an axis of layers is taken apart, in whatever place it stands") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder.write("s.npy", npy_bytes(stack(3, 2))));
  request.maps.axes = {MapAxis::layer, MapAxis::batch, MapAxis::head};
  CHECK(shares(request) == Shares{0, 0.1, 0.2});
  CHECK(places(request) == Texts{"Layer 0", "Layer 1", "Layer 2"});
  // Numbers of one head as [batch,head,layer,…].
  request = request_for(folder.write("t.npy", npy_bytes(stack(3, 1).reshaped({1, 1, 3, 2, 2}))));
  request.maps.axes = {MapAxis::batch, MapAxis::head, MapAxis::layer};
  CHECK(shares(request) == Shares{0, 0.1, 0.2});
  request.maps.selection.layers = {{one(2), one(0)}};
  CHECK(shares(request) == Shares{0.2, 0});
}

TEST_CASE("five axes that nobody names are refused") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder.write("s.npy", npy_bytes(stack(3, 2))));
  CHECK(error_from([&] { read_heatmap(request); }) ==
        "the weights have the shape [3,1,2,2,2]\n  where: " + request.input.string() +
            ", /weights\n  help:  say with MapRequest::axes what the axes before queries and "
            "keys are, such as layer,batch,head");
  request.maps.axes = {MapAxis::layer, MapAxis::head};
  CHECK(error_from([&] { read_heatmap(request); }) ==
        "the tensor [3,1,2,2,2] has 5 axes, not the 4 of layer, head, query, key\n"
        "  where: MapRequest::axes\n"
        "  help:  name the axes of the tensor, from the first on");
}

TEST_CASE("tensors whose rows are weights are layers, in the order of their numbers") {
  const TemporaryFolder folder;
  const PlotRequest request =
      request_for(folder.write("a.npz", npz_of({"attn_0", "attn_10", "attn_2"}, {0, 3, 1})));
  CHECK(shares(request) == Shares{0, 0.1, 0.1 * 3});
  CHECK(places(request) == Texts{"Layer 0", "Layer 2", "Layer 10"});
}

TEST_CASE("a name with {n} takes the tensors of all layers, which may count from 1") {
  const TemporaryFolder folder;
  PlotRequest request =
      request_for(folder.write("a.npz", npz_of({"layer1", "layer2", "other1"}, {1, 2, 3})));
  request.maps.name = "layer{n}";
  CHECK(shares(request) == Shares{0.1, 0.2});
  CHECK(places(request) == Texts{"Layer 0", "Layer 1"});
  request.maps.selection.layers = {{one(1)}};
  CHECK(shares(request) == Shares{0.2});
  request.maps.selection.layers = {{one(2)}};
  CHECK(error_from([&] { shares(request); }) ==
        "there is no layer 2: there are 2 layers\n  where: MapSelection::layers\n"
        "  help:  give 0 to 1");
  request.maps.name = "head{n}";
  CHECK(error_from([&] { shares(request); }) ==
        "there is no tensor \"head{n}\"\n  where: MapRequest::name\n"
        "  help:  known: layer1, layer2, other1");
}

TEST_CASE("files are layers by the number in their names, else as they are given") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder.write("l10.npy", npy_bytes(layer(1))));
  request.maps.others = {folder.write("l2.npy", npy_bytes(layer(0)))};
  CHECK(shares(request) == Shares{0, 0.1});
  CHECK(places(request) == Texts{"Layer 2", "Layer 10"});
  request.maps.others = {folder.write("x.npy", npy_bytes(layer(0)))};
  CHECK(shares(request) == Shares{0.1, 0});
  CHECK(places(request) == Texts{"Layer 0", "Layer 1"});
  CHECK(error_from([&] { read_heatmap(request); }) ==
        "such a picture shows one layer, but there are 2 files\n  where: MapRequest::others\n"
        "  help:  choose one with MapSelection::layers, or mean, or draw them as a grid");
}

TEST_CASE("layers are taken together by their mean or the largest") {
  const TemporaryFolder folder;
  PlotRequest request = request_for(folder.write("s.npy", npy_bytes(stack(3, 2))));
  request.maps.axes = {MapAxis::layer, MapAxis::batch, MapAxis::head};
  request.maps.selection.layers_together = MapSelection::Layers::all;
  CHECK(shares(request).size() == 3);
  CHECK(error_from([&] { read_heatmap(request); }) ==
        "such a picture shows one layer, but 3 are chosen\n  where: MapSelection::layers\n"
        "  help:  choose one, take their mean, or draw them as a grid");
  request.maps.selection.layers = {{one(0), one(2)}};
  request.maps.selection.layers_together = MapSelection::Layers::mean;
  CHECK(shares(request)[0] == doctest::Approx(0.1));
  CHECK(places(request) == Texts{"Mean of Layers 0 and 2"});
  request.maps.selection.layers_together = MapSelection::Layers::max;
  request.maps.selection.layers.reset();
  CHECK(shares(request)[0] == doctest::Approx(0.2));
  CHECK(places(request) == Texts{"Largest of 3 Layers"});
  CHECK(read_heatmap(request).title == "Attention Weight Heatmap (Largest of 3 Layers, Head 0)");
}

TEST_CASE("layers together hide a cell that every layer hides") {
  const TemporaryFolder folder;
  const std::string rows = "[[1,0],[0.5,0.5]]", lower = "[[1,0],[1,1]]";
  const auto request = [&](const std::string& second) {
    PlotRequest mean = request_for(folder.write(
        "w.json", "{\"tensors\":{\"layers.0.weights\":" + rows + ",\"layers.0.allowed\":" + lower +
                      ",\"layers.1.weights\":" + rows + second + "}}"));
    mean.maps.selection.layers_together = MapSelection::Layers::mean;
    return mean;
  };
  const auto both = chosen(request(",\"layers.1.allowed\":[[1,1],[1,1]]"));
  CHECK(tensor_is<std::uint8_t>(both[0].allowed, {2, 2}, {1, 1, 1, 1}));
  CHECK(!chosen(request(""))[0].allowed);
}

TEST_CASE("layers together join a mask of all heads with masks of each head") {
  const TemporaryFolder folder;
  const std::string head = "[[1,0],[0.5,0.5]]", two = "[[" + head + "," + head + "]]";
  const std::string lower = "[[1,0],[1,1]]", upper = "[[1,1],[0,1]]";
  const auto joined = [&](const std::string& first, const std::string& second) {
    PlotRequest request = request_for(folder.write(
        "w.json", R"({"tensors":{"layers.0.weights":)" + two + R"(,"layers.0.allowed":)" + first +
                      R"(,"layers.1.weights":)" + two + R"(,"layers.1.allowed":)" + second + "}}"));
    request.maps.selection.layers_together = MapSelection::Layers::mean;
    return chosen(request)[0].allowed;
  };
  const std::string once = "[[" + lower + "]]", each = "[[" + lower + "," + upper + "]]";
  const std::vector<std::uint8_t> either{1, 0, 1, 1, 1, 1, 1, 1};
  CHECK(tensor_is<std::uint8_t>(joined(once, each), {1, 2, 2, 2}, either));
  CHECK(tensor_is<std::uint8_t>(joined(each, once), {1, 2, 2, 2}, either));
  CHECK(error_from([&] { joined(each, "[[1,1]]"); }) ==
        "allowed [1,2] does not have the shape of the weights [1,2,2,2]\n  where: /allowed\n"
        "  help:  give both the same shape");
}

TEST_CASE("stacks in the order of their file take their layers together") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{{"a1", layer(1)}, {"other", layer(2)}, {"a2", layer(3)}};
  PlotRequest request = request_for(folder.write("a.npz", npz_bytes(tensors)));
  request.maps.selection.layers_together = MapSelection::Layers::max;
  std::vector<FiledMaps> stacks = all_stacks(files_of(request), request.maps, MapContents::weights);
  Texts found;
  each_of(stacks, [&](const AttentionMap& map) { found.push_back(map.tensor + " " + map.place); });
  CHECK(found == Texts{"a1 Largest of 2 Layers", "other Largest of 1 Layer"});
}

TEST_CASE("heads that are chosen keep their numbers, alone and together") {
  const TemporaryFolder folder;
  PlotRequest request =
      request_for(folder.write("s.npy", npy_bytes(stack(1, 4).reshaped({1, 4, 2, 2}))));
  request.kind = PlotKind::grid;
  request.maps.selection.chosen_heads = {{one(3), one(1)}};
  Texts titles;
  for (const PictureText& text : draw(request).texts) {
    if (text.text.starts_with("Head")) titles.push_back(text.text);
  }
  CHECK(titles == Texts{"Head 4", "Head 2"});
  request.maps.selection.heads = MapSelection::Shown::mean;
  const Heatmap mean = read_heatmap(request);
  CHECK(mean.weights.values<double>()[0] == doctest::Approx(0.02));
  CHECK(mean.title == "Attention Weight Heatmap (Mean of Heads 3 and 1)");
}

TEST_CASE("a tensor that is named is a map if its rows are weights, or if its axes say so") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{{"attn", layer(1)},
                                         {"raw", Tensor({2, 2}, std::vector<double>{1, -2, 3, 4})}};
  PlotRequest request = request_for(folder.write("a.npz", npz_bytes(tensors)));
  folder.write("tokens.txt", "Ġa\nĠb\n");
  request.maps.labels = folder / "tokens.txt";
  request.maps.name = "attn";
  CHECK(read_heatmap(request).key_labels == Texts{"Ġa", "Ġb"});
  CHECK(!read_heatmap(request).any_numbers);
  request.maps.name = "raw";
  CHECK(read_heatmap(request).of_positions);
  request.maps.axes = {MapAxis::query, MapAxis::key};
  CHECK(!read_heatmap(request).of_positions);
  CHECK(read_heatmap(request).key_labels == Texts{"Ġa", "Ġb"});
  CHECK(read_heatmap(request).any_numbers);
}

TEST_CASE("a file without a map says which tensors there are") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{{"hidden", Tensor({1, 2}, std::vector<double>{1, -2})},
                                         {"ids", Tensor({2}, std::vector<double>{1, 2})}};
  const PlotRequest request = request_for(folder.write("a.npz", npz_bytes(tensors)));
  CHECK(error_from([&] { read_heatmap(request); }) ==
        "there are no weights to draw among \"hidden\" [1,2], \"ids\" [2]; \"hidden\": 1 of 2 "
        "numbers are negative, which no weight is\n  where: " +
            request.input.string() +
            "\n  help:  choose a tensor with MapRequest::name, and say what its axes are with "
            "MapRequest::axes if it is a map");
}

TEST_CASE("a file of scores gets the document that makes weights of them") {
  const TemporaryFolder folder;
  const std::string name = "blocks.0.attn.hook_attn_scores";
  const std::vector<NamedTensor> tensors{
      {name, Tensor({1, 1, 2, 2}, std::vector<double>{1, -2, 3, -4})},
      {"ids", Tensor({2}, std::vector<double>{1, 2})}};
  const PlotRequest request = request_for(folder.write("a.npz", npz_bytes(tensors)));
  const std::string file = request.input.string();
  CHECK(error_from([&] { read_heatmap(request); }) ==
        "there are no weights to draw among \"" + name + "\" [1,1,2,2], \"ids\" [2]; \"" + name +
            "\": 2 of 4 numbers are negative, which no weight is\n  where: " + file +
            "\n  help:  scores become weights by a softmax: save the weights, which "
            "TransformerLens calls hook_pattern, or name a document of one layer, "
            R"({"attention": "softmax", "scores": {"file": ")" +
            file + R"(", "name": ")" + name + R"("}})");
}

TEST_CASE("a key that stands beside the tensors by mistake is named with the nearest one") {
  const TemporaryFolder folder;
  const PlotRequest request =
      request_for(folder.write("w.json", R"({"weights":[[1]],"lables":["a"]})"));
  CHECK(error_from([&] { read_heatmap(request); }) ==
        "unknown key \"lables\"\n  where: " + request.input.string() +
            ", /lables\n  help:  did you mean \"labels\"?");
}

TEST_CASE("one list of labels names the sides whose length it has") {
  const TemporaryFolder folder;
  PlotRequest request =
      request_for(folder.write("w.json", R"({"weights":[[0.5,0.5,0]],"labels":["a","b","c"]})"));
  CHECK(read_heatmap(request).query_labels.empty());
  CHECK(read_heatmap(request).key_labels == Texts{"a", "b", "c"});
  folder.write("four.txt", "[CLS]\nb\nc\nd");
  request.maps.labels = folder / "four.txt";
  CHECK(error_from([&] { read_heatmap(request); }) ==
        "4 labels for 1 query and 3 keys\n  where: " + (folder / "four.txt").string() +
            "\n  help:  give one label for each of them: {\"query\": […], \"key\": […]}");
  folder.write("f.json", R"({"weights":[[0.5,0.5,0]],"labels":{"key":{"file":"three.txt"}}})");
  folder.write("three.txt", "x\r\ny\r\nz\r\n");
  CHECK(read_heatmap(request_for(folder / "f.json")).key_labels == Texts{"x", "y", "z"});
}

TEST_CASE("names with no number behind \"layers.\" are attentions of their own") {
  const TemporaryFolder folder;
  const std::string rows = "[[0.5,0.5],[0.25,0.75]]";
  for (const std::string layer : {"bar", "99999999999999999999"}) {
    const auto path = folder.write("b.json", "{\"layers.foo.weights\":" + rows + ",\"layers." +
                                                 layer + ".weights\":" + rows + "}");
    const MapFiles files = files_of(request_for(path));
    FiledMaps maps(files, {});
    const AttentionMap map = maps.one();
    CHECK(map.name.text() == "layers.foo");
    CHECK(!map.layer);
    CHECK(map.numbers.shape() == Shape{2, 2});
    CHECK(maps.left_out() == Texts{"layers." + layer + ".weights"});
    CHECK(all_stacks(files, {}, MapContents::weights).size() == 2);
  }
}

TEST_CASE(
    "all stacks of a file are those of its attentions, of its axes and of its numbered names") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{
      {"deep", stack(3, 2)}, {"a0", layer(0)}, {"a1", layer(1)}, {"other", layer(2)}};
  const auto path = folder.write("a.npz", npz_bytes(tensors));
  Texts found;
  for (FiledMaps& stack : all_stacks(files_of(request_for(path)), {}, MapContents::weights)) {
    stack.each([&](const AttentionMap& map) {
      found.push_back(map.tensor + " " + map.name.text() + " " + map.place);
    });
  }
  CHECK(found == Texts{"deep deep Layer 0", "deep deep Layer 1", "deep deep Layer 2",
                       "a0 a0 Layer 0", "a1 a1 Layer 1", "other other "});
}
