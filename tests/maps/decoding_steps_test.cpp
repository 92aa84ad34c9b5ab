#include "maps/decoding_steps.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"
#include "attn/pictures.hpp"

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

std::vector<DecodingSteps> steps_in(const std::filesystem::path& path) {
  ResultReader file(path);
  return decoding_steps(file);
}

}  // namespace

TEST_CASE("what a decoding left is known by its names and shapes") {
  const TemporaryFolder folder;
  const auto found = steps_in(folder.write("steps.npz", self_attention(3, "attentions.")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].prefix == "attentions.");
  CHECK(found[0].steps() == 3);
  CHECK(found[0].layers() == 2);
  CHECK(found[0].tensors[2] == std::vector<std::string>{"attentions.2.0", "attentions.2.1"});
  CHECK(found[0].prompt == 2);
  CHECK(found[0].samples == 3);
  CHECK(found[0].self);
  CHECK_FALSE(found[0].repeats);
  CHECK_FALSE(found[0].beams);
}

TEST_CASE("keys of a cross-attention do not grow, and rows repeat where none are kept") {
  const TemporaryFolder folder;
  const auto cross = steps_in(folder.write(
      "cross.npz", npz_bytes(std::vector<NamedTensor>{
                       {"0.0", uniform(1, 1, 4)},
                       {"1.0", uniform(1, 1, 4)},
                       {"beam_indices", Tensor({2}, std::vector<std::int64_t>{0, 0})}})));
  REQUIRE(cross.size() == 1);
  CHECK_FALSE(cross[0].self);
  CHECK(cross[0].beams);
  const auto repeated = steps_in(folder.write(
      "again.npz",
      npz_bytes(std::vector<NamedTensor>{{"0.0", uniform(1, 2, 2)}, {"1.0", uniform(1, 3, 3)}})));
  REQUIRE(repeated.size() == 1);
  CHECK(repeated[0].repeats);
}

TEST_CASE("tuples of layers of several models or texts are no decoding") {
  const TemporaryFolder folder;
  const auto none = [&](const std::vector<NamedTensor>& tensors) {
    return steps_in(folder.write("none.npz", npz_bytes(tensors))).empty();
  };
  CHECK(none({{"0.0", uniform(1, 3, 3)}, {"1.0", uniform(1, 3, 3)}}));
  CHECK(none({{"0.0", uniform(1, 2, 2)}, {"1.1", uniform(1, 1, 3)}}));
  CHECK(none({{"0.0", uniform(1, 2, 2)}, {"2.0", uniform(1, 1, 3)}}));
  CHECK(none({{"0.0", uniform(1, 2, 2)}, {"1.0", uniform(1, 1, 5)}}));
  CHECK(none({{"0", uniform(1, 2, 2)}, {"1", uniform(1, 1, 3)}}));
}

TEST_CASE("a decoding is one map a layer over prompt and steps") {
  const TemporaryFolder folder;
  PlotRequest request;
  request.input = folder.write("steps.npz", self_attention(1));
  FiledMaps maps(map_files(std::make_shared<ResultReader>(request.input), request.maps),
                 request.maps);
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
