#include "result/tensor_stream.hpp"

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

namespace {

using attn::Tensor;
using attn::TensorFormat;
using Named = std::vector<std::pair<std::string, Tensor>>;

const Named streamed{{"token_ids", Tensor({1, 2}, std::vector<std::int64_t>{7, -1})},
                     {"layers.0.self.weights", Tensor({1, 1, 2, 2}, {1, 0, 0.25F, 0.75F})},
                     {"output", Tensor({1, 2, 3}, {1, 2, 3, 4, 5, 6})}};

// The same without elements.
Named foreseen() {
  Named shapes;
  for (const auto& [name, tensor] : streamed) {
    shapes.emplace_back(name, attn::shape_only(tensor.shape(), tensor.dtype()));
  }
  return shapes;
}

}  // namespace

TEST_CASE("tensors that are written one by one make the files of tensors written at once") {
  for (const TensorFormat format : {TensorFormat::npy, TensorFormat::safetensors}) {
    const TemporaryFolder once, one_by_one;
    attn::FileTasks all;
    const auto places = attn::plan_tensors(streamed, format, false, once.path(), all);
    all.write(1);
    REQUIRE(attn::TensorStream::takes(format));
    attn::TensorStream stream(format, foreseen(), one_by_one.path());
    for (const auto& [name, tensor] : streamed) stream.put(name, tensor);
    CHECK(std::filesystem::is_empty(one_by_one.path()));
    attn::FileTasks tasks;
    const auto stream_places = stream.finish(tasks);
    CHECK(tasks.write(2).size() == (format == TensorFormat::npy ? 3 : 1));
    REQUIRE(stream_places.size() == places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      CHECK(stream_places[i].files == places[i].files);
      CHECK(stream_places[i].name == places[i].name);
      const std::string& file = places[i].files[0];
      CHECK(read_text(one_by_one / file) == read_text(once / file));
    }
  }
}

TEST_CASE("a stream refuses a tensor that was not foreseen, and leaves no file") {
  const TemporaryFolder folder;
  {
    attn::TensorStream stream(TensorFormat::safetensors, foreseen(), folder.path());
    stream.put("token_ids", streamed[0].second);
    constexpr auto kind = attn::ErrorKind::internal;
    CHECK(error_from([&] { stream.put("output", streamed[2].second); }, kind) ==
          "a result has other tensors than were foreseen\n"
          "  where: output");
    attn::FileTasks tasks;
    CHECK(error_from([&] { stream.finish(tasks); }, kind) ==
          "a result has other tensors than were foreseen\n"
          "  where: output");
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK_FALSE(attn::TensorStream::takes(TensorFormat::json));
  CHECK_FALSE(attn::TensorStream::takes(TensorFormat::npz));
  CHECK_FALSE(attn::TensorStream::takes(TensorFormat::csv));
}
