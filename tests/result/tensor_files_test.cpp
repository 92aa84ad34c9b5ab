#include "result/tensor_files.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"
#include "tensor/operations.hpp"
#include "tensor_is.hpp"

namespace {

using attn::Tensor;
using attn::TensorFormat;
using attn::TensorPlace;

const std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8};

// Names of the files but result.json, which is not looked at here.
std::vector<std::filesystem::path> put_into_place(attn::ResultFolder& folder) {
  auto written = folder.write(2, [](const auto&, attn::HashedFile& file) { file.write("{}"); });
  folder.commit();
  std::filesystem::remove(written.back().path);
  written.pop_back();
  std::vector<std::filesystem::path> names;
  for (const attn::WrittenFile& file : written) names.push_back(file.path);
  return names;
}

std::vector<TensorPlace> write(const TemporaryFolder& folder, const Tensor& tensor,
                               TensorFormat format, bool heads_only = false) {
  const std::vector<std::pair<std::string, Tensor>> tensors{{"weights", tensor}};
  attn::ResultFolder result(folder.path(), false);
  const auto places = attn::plan_tensors(tensors, format, heads_only, result);
  std::vector<std::filesystem::path> named;
  for (const TensorPlace& place : places) {
    for (const std::string& file : place.files) named.push_back(folder / file);
  }
  CHECK(put_into_place(result) == named);
  return places;
}

using Names = std::vector<std::string>;

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

const NamedTensors streamed{{"token_ids", Tensor({1, 2}, std::vector<std::int64_t>{7, -1})},
                            {"layers.0.self.weights", Tensor({1, 1, 2, 2}, {1, 0, 0.25F, 0.75F})},
                            {"output", Tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6})}};

// Names, shapes and types of the streamed tensors, without elements.
NamedTensors foreseen() {
  NamedTensors shapes;
  for (const auto& [name, tensor] : streamed) {
    shapes.emplace_back(name, attn::shape_only(tensor.shape(), tensor.dtype()));
  }
  return shapes;
}

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

TEST_CASE("tensors that are written one by one make the files of tensors written at once") {
  const auto try_stream = [](TensorFormat format, std::size_t threads, bool sync) {
    const TemporaryFolder once, one_by_one;
    attn::ResultFolder all(once.path(), false);
    const auto places = attn::plan_tensors(streamed, format, false, all);
    put_into_place(all);
    REQUIRE(attn::TensorStream::takes(format));
    attn::TensorStream stream(format, foreseen(), one_by_one.path(), threads, sync);
    for (const auto& [name, tensor] : streamed) stream.put(name, tensor);
    CHECK(std::filesystem::is_empty(one_by_one.path()));
    attn::ResultFolder result(one_by_one.path(), false);
    const auto stream_places = stream.finish(result);
    CHECK(put_into_place(result).size() == (format == TensorFormat::npy ? 3 : 1));
    REQUIRE(stream_places.size() == places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      CHECK(stream_places[i].files == places[i].files);
      CHECK(stream_places[i].name == places[i].name);
      const std::string& file = places[i].files[0];
      CHECK(read_text(one_by_one / file) == read_text(once / file));
    }
  };
  for (const TensorFormat format : {TensorFormat::npy, TensorFormat::safetensors}) {
    try_stream(format, 1, false);
    try_stream(format, 2, true);
  }
}

TEST_CASE("a stream that is finished has written all bytes of its files, and only names are left") {
  for (const TensorFormat format : {TensorFormat::npy, TensorFormat::safetensors}) {
    const TemporaryFolder folder;
    const Tensor large({1, 1, 2200, 2200}, std::vector<float>(2200 * 2200, 0.5F));  // 19.4 MB
    const NamedTensors shapes{{"a", attn::shape_only(large.shape(), large.dtype())},
                              {"b", attn::shape_only({3}, attn::DType::float32)}};
    attn::TensorStream stream(format, shapes, folder.path(), 2, false);
    stream.put("a", large);
    stream.put("b", Tensor({3}, {1, 2, 3}));
    attn::ResultFolder result(folder.path(), false);
    stream.finish(result);
    std::uintmax_t open_bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code closed;
      const auto target = std::filesystem::read_symlink(entry.path(), closed);
      if (target.native().starts_with(folder.path().native())) {
        open_bytes += std::filesystem::file_size(entry.path());
      }
    }
    std::uintmax_t bytes = 0;
    for (const auto& file : put_into_place(result)) bytes += std::filesystem::file_size(file);
    CHECK(bytes > 19'000'000);
    CHECK(open_bytes == bytes);
  }
}

TEST_CASE("a stream refuses a tensor that was not foreseen, and leaves no file") {
  const TemporaryFolder folder;
  {
    attn::TensorStream stream(TensorFormat::safetensors, foreseen(), folder.path(), 2, false);
    stream.put("token_ids", streamed[0].second);
    constexpr auto kind = attn::ErrorKind::internal;
    CHECK(error_from([&] { stream.put("output", streamed[2].second); }, kind) ==
          "a result has other tensors than expected\n"
          "  where: output");
    attn::ResultFolder result(folder.path(), false);
    CHECK(error_from([&] { stream.finish(result); }, kind) ==
          "a result has other tensors than expected\n"
          "  where: output");
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_FALSE(attn::TensorStream::takes(TensorFormat::json));
  CHECK_FALSE(attn::TensorStream::takes(TensorFormat::npz));
  CHECK_FALSE(attn::TensorStream::takes(TensorFormat::csv));
}
