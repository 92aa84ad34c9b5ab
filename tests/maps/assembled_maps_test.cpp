#include "maps/assembled_maps.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"
#include "attn/pictures.hpp"

#include "error_from.hpp"
#include "maps/filed_maps.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

namespace {

using namespace attn;

// Uniform weights [B,1,rows,keys].
Tensor uniform(std::size_t samples, std::size_t rows, std::size_t keys) {
  return Tensor({samples, 1, rows, keys},
                std::vector<double>(samples * rows * keys, 1 / static_cast<double>(keys)));
}

// Two layers of a prompt of two tokens, and two steps after it.
std::string self_attention(std::size_t samples, const std::string& prefix = "") {
  std::vector<NamedTensor> tensors;
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t layer = 0; layer < 2; ++layer) {
      tensors.push_back({prefix + std::to_string(step) + "." + std::to_string(layer),
                         uniform(samples, step == 0 ? 2 : 1, 2 + step)});
    }
  }
  return npz_bytes(tensors);
}

std::optional<StepRows> rows(const std::vector<Shape>& shapes) {
  return rows_of_steps(shapes);
}

FiledMaps maps_in(const std::filesystem::path& input) {
  return FiledMaps(map_files(std::make_shared<ResultReader>(input), {}), {});
}

}  // namespace

TEST_CASE("what a decoding left is known by its names and shapes") {
  const std::vector<std::string> names{"attentions.0.0", "attentions.0.1", "attentions.1.0",
                                       "attentions.1.1", "attentions.2.0", "attentions.2.1"};
  const std::vector<LayerOfSteps> layers = steps_of_layers(names, std::nullopt);
  REQUIRE(layers.size() == 2);
  CHECK(layers[1].layer == 1);
  CHECK(layers[1].tensors ==
        std::vector<std::string>{"attentions.0.1", "attentions.1.1", "attentions.2.1"});
  CHECK(steps_of_layers(names, "attentions.{step}.{layer}").size() == 2);
  CHECK(steps_of_layers(names, "others.{step}.{layer}").empty());
  CHECK(rows({{3, 1, 2, 2}, {3, 1, 1, 3}, {3, 1, 1, 4}}) == StepRows::one);
}

TEST_CASE("keys of a cross-attention do not grow, and rows repeat where none are kept") {
  CHECK(rows({{1, 1, 1, 4}, {1, 1, 1, 4}}) == StepRows::one);
  CHECK(rows({{1, 1, 2, 2}, {1, 1, 3, 3}, {1, 1, 4, 4}}) == StepRows::all);
  CHECK(rows({{1, 2, 5, 5}, {4, 2, 1, 6}}) == StepRows::one);  // beams after the prompt
}

TEST_CASE("tuples of layers of several models or texts are no decoding") {
  CHECK_FALSE(rows({{1, 1, 3, 3}, {1, 1, 3, 3}}));
  CHECK_FALSE(rows({{1, 1, 2, 2}, {1, 1, 1, 5}}));
  CHECK_FALSE(rows({{1, 1, 2, 2}, {1, 2, 1, 3}}));
  CHECK_FALSE(rows({{1, 1, 2, 2}, {1, 1, 3, 3}, {1, 1, 1, 4}}));
  CHECK_FALSE(rows({{1, 1, 2, 2}}));
  const auto layers = [](const std::vector<std::string>& names) {
    return steps_of_layers(names, std::nullopt).size();
  };
  CHECK(layers({"0.0", "1.1"}) == 0);
  CHECK(layers({"0.0", "2.0"}) == 0);
  CHECK(layers({"0", "1"}) == 0);
  CHECK(layers({"layers.0.0", "layers.1.0"}) == 0);
  CHECK(layers({"0.0", "1.0"}) == 1);
}

TEST_CASE("a decoding is one map a layer over prompt and steps") {
  const TemporaryFolder folder;
  FiledMaps maps = maps_in(folder.write("steps.npz", self_attention(1)));
  CHECK(maps.layers() == 2);
  const std::vector<AttentionMap> chosen = maps.chosen();
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[1].layer == 1);
  CHECK(chosen[1].holds_weights());
  const double third = 1.0 / 3;
  CHECK(tensor_is<double>(
      chosen[1].numbers, {1, 1, 4, 4},
      {0.5, 0.5, 0, 0, 0.5, 0.5, 0, 0, third, third, third, 0, 0.25, 0.25, 0.25, 0.25}));
  CHECK(tensor_is<std::uint8_t>(chosen[1].allowed, {1, 1, 4, 4},
                                {1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}));
}

TEST_CASE(
    "the last step is the map where each has all rows, and a prompt's zeros are hidden keys") {
  const TemporaryFolder folder;
  const Tensor prompt({1, 1, 2, 2}, std::vector<double>{1, 0, 0.5, 0.5});
  const Tensor whole({1, 1, 3, 3}, std::vector<double>{1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25});
  const AttentionMap repeated =
      maps_in(folder.write("again.npz",
                           npz_bytes(std::vector<NamedTensor>{{"0.0", prompt}, {"1.0", whole}})))
          .one();
  CHECK(
      tensor_is<double>(repeated.numbers, {1, 1, 3, 3}, {1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25}));
  CHECK(tensor_is<std::uint8_t>(repeated.allowed, {1, 1, 3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1}));
}

TEST_CASE("sequences of a search by beams go on from the samples of their indices") {
  const TemporaryFolder folder;
  const Tensor second({2, 1, 1, 3}, std::vector<double>{0.5, 0.25, 0.25, 0.125, 0.125, 0.75});
  const auto with_beams = [&](std::vector<std::int64_t> beams) {
    return folder.write("beams.npz", npz_bytes(std::vector<NamedTensor>{
                                         {"attentions.0.0", uniform(2, 2, 2)},
                                         {"attentions.1.0", second},
                                         {"beam_indices", Tensor({1, 2}, std::move(beams))}}));
  };
  CHECK(tensor_is<double>(maps_in(with_beams({0, 1})).one().numbers, {1, 1, 3, 3},
                          {0.5, 0.5, 0, 0.5, 0.5, 0, 0.125, 0.125, 0.75}));
  const AttentionMap ended = maps_in(with_beams({0, -1})).one();
  CHECK(tensor_is<std::uint8_t>(ended.allowed, {1, 1, 3, 3}, {1, 1, 0, 1, 1, 0, 0, 0, 0}));
  CHECK(error_from([&] {
          maps_in(with_beams({0, 2})).one();
        }) ==
        "there is no sample 2: step 1 has 2\n  where: beam_indices\n"
        "  help:  give the indices of these steps");
}

namespace {

using namespace attn;

// From 0 to 1, from 2 to 1, from 1 to 0.
const Tensor nodes({2, 3}, std::vector<std::int64_t>{0, 2, 1, 1, 1, 0});
const Tensor one_head({3}, std::vector<double>{0.25, 0.5, 2});
const Tensor two_heads({3, 2}, std::vector<double>{0.25, 1, 0.5, 2, 3, 4});

AttentionMap only_map(const std::filesystem::path& path) {
  PlotRequest request;
  request.input = path;
  return FiledMaps(map_files(std::make_shared<ResultReader>(path), request.maps), request.maps)
      .one();
}

}  // namespace

TEST_CASE("edges are a map whose rows are the nodes that they lead to") {
  const TemporaryFolder folder;
  const AttentionMap one = only_map(folder.write(
      "one.npz", npz_bytes(std::vector<NamedTensor>{{"edge_index", nodes}, {"alpha", one_head}})));
  CHECK(tensor_is<double>(one.numbers, {3, 3}, {0, 2, 0, 0.25, 0, 0.5, 0, 0, 0}));
  CHECK(one.is_map());
  const AttentionMap two = only_map(
      folder.write("two.npz", npz_bytes(std::vector<NamedTensor>{{"0", nodes}, {"1", two_heads}})));
  CHECK(tensor_is<double>(two.numbers, {2, 3, 3},
                          {0, 3, 0, 0.25, 0, 0.5, 0, 0, 0, 0, 4, 0, 1, 0, 2, 0, 0, 0}));
  CHECK(two.heads_only);
}

TEST_CASE("weights of an edge that is there twice are added") {
  const TemporaryFolder folder;
  ResultReader file(folder.write(
      "twice.npz", npz_bytes(std::vector<NamedTensor>{
                       {"edges", Tensor({2, 2}, std::vector<std::int64_t>{1, 1, 0, 0})},
                       {"weights_of_edges", Tensor({2}, std::vector<double>{0.25, 0.5})}})));
  const std::vector<EdgeList> lists = edge_lists(file);
  REQUIRE(lists.size() == 1);
  CHECK(tensor_is<double>(map_of_edges(file, lists[0]), {2, 2}, {0, 0.75, 0, 0}));
}

TEST_CASE("edges beyond the limit, and numbers that count no nodes, are no map") {
  const TemporaryFolder folder;
  FileAccess access;
  access.limits.elements = 8;
  ResultReader file(folder.write("edges.npz", npz_bytes(std::vector<NamedTensor>{
                                                  {"edges", nodes}, {"alpha", one_head}})),
                    access);
  CHECK(error_from([&] {
          map_of_edges(file, {"edges", "alpha"});
        }).starts_with("the map of 3 nodes has 9 elements, and the limit is 8\n"));
  ResultReader other(folder.write(
      "other.npz",
      npz_bytes(std::vector<NamedTensor>{
          {"a", Tensor({2, 3}, std::vector<double>{0, 1, 0.5, 1, 0, 1})}, {"b", one_head}})));
  CHECK(edge_lists(other).empty());
}

TEST_CASE("sparse matrices of SciPy are maps, by rows, by columns and by coordinates") {
  const TemporaryFolder folder;
  const Tensor shape({2}, std::vector<std::int64_t>{2, 3}),
      data({3}, std::vector<double>{1, 0.25, 0.75});
  const auto map = [&](const std::vector<NamedTensor>& tensors) {
    return only_map(folder.write("sparse.npz", npz_bytes(tensors))).numbers;
  };
  const auto whole = [&](std::vector<std::int64_t> numbers) {
    const std::size_t count = numbers.size();
    return Tensor({count}, std::move(numbers));
  };
  const std::vector<double> dense{0, 1, 0, 0.25, 0, 0.75};
  CHECK(tensor_is<double>(map({{"indices", whole({1, 0, 2})},
                               {"indptr", whole({0, 1, 3})},
                               {"shape", shape},
                               {"data", data}}),
                          {2, 3}, dense));
  CHECK(tensor_is<double>(map({{"indices", whole({1, 0, 1})},
                               {"indptr", whole({0, 1, 2, 3})},
                               {"shape", shape},
                               {"data", Tensor({3}, std::vector<double>{0.25, 1, 0.75})}}),
                          {2, 3}, dense));
  CHECK(tensor_is<double>(
      map({{"row", whole({0, 1, 1})}, {"col", whole({1, 0, 2})}, {"shape", shape}, {"data", data}}),
      {2, 3}, dense));
  CHECK(error_from([&] {
          map({{"row", whole({0, 1, 2})},
               {"col", whole({1, 0, 2})},
               {"shape", shape},
               {"data", data}});
        }).starts_with("the parts of the sparse matrix do not fit together"));
}
