#include "result/tensor_writer.hpp"

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "temporary_folder.hpp"
#include "tensor_is.hpp"

namespace {

using attn::Tensor;
using attn::TensorFormat;
using attn::TensorPlace;

const std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8};

std::vector<TensorPlace> write(const TemporaryFolder& folder, const Tensor& tensor,
                               TensorFormat format, bool heads_only = false) {
  const std::vector<std::pair<std::string, Tensor>> tensors{{"weights", tensor}};
  attn::FileTasks tasks;
  const auto places = attn::plan_tensors(tensors, format, heads_only, folder.path(), tasks);
  const std::vector<std::filesystem::path> written = tasks.write(2);
  std::vector<std::filesystem::path> named;
  for (const TensorPlace& place : places) {
    for (const std::string& file : place.files) named.push_back(folder / file);
  }
  CHECK(written == named);
  return places;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("tensors in JSON take no file of their own") {
  const TemporaryFolder folder;
  CHECK(write(folder, Tensor({2, 4}, numbers), TensorFormat::json).empty());
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("binary files hold the tensors bit for bit at the places told") {
  for (const TensorFormat format :
       {TensorFormat::npy, TensorFormat::npz, TensorFormat::safetensors}) {
    const TemporaryFolder folder;
    const auto places = write(folder, Tensor({1, 2, 2, 2}, numbers), format);
    REQUIRE(places.size() == 1);
    REQUIRE(places[0].files.size() == 1);
    REQUIRE(places[0].name);
    const Tensor read = attn::TensorFile::open(folder / places[0].files[0]).read(*places[0].name);
    CHECK(tensor_is<float>(read, {1, 2, 2, 2}, numbers));
  }
}

TEST_CASE("comma-separated values are one file a matrix, named by sample and head") {
  const TemporaryFolder folder;
  const auto files = [&](attn::Shape shape, bool heads_only = false) {
    return write(folder, Tensor(std::move(shape), numbers), TensorFormat::csv, heads_only)[0].files;
  };
  CHECK(files({2, 4}) == Names{"weights.csv"});
  CHECK(read_text(folder / "weights.csv") == "1,2,3,4\n5,6,7,8\n");
  CHECK(files({2, 2, 2}) == Names{"weights.sample0.csv", "weights.sample1.csv"});
  CHECK(read_text(folder / "weights.sample1.csv") == "5,6\n7,8\n");
  CHECK(files({2, 2, 2}, true) == Names{"weights.head0.csv", "weights.head1.csv"});
  CHECK(read_text(folder / "weights.head0.csv") == "1,2\n3,4\n");
  CHECK(files({2, 2, 1, 2}) == Names{"weights.sample0.head0.csv", "weights.sample0.head1.csv",
                                     "weights.sample1.head0.csv", "weights.sample1.head1.csv"});
  CHECK(read_text(folder / "weights.sample1.head0.csv") == "5,6\n");
  CHECK(files({8}) == Names{"weights.csv"});
  CHECK(read_text(folder / "weights.csv") == "1\n2\n3\n4\n5\n6\n7\n8\n");
}
