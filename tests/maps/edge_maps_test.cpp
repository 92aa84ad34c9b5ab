#include "maps/edge_maps.hpp"

#include <string>
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
