#include "models/checkpoint.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

std::string numbers(const std::vector<std::string>& names) {
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < names.size(); ++i) {
    tensors.push_back({names[i], Tensor({2}, std::vector<float>{static_cast<float>(i), 1})});
  }
  return safetensors_bytes(tensors);
}

CheckpointWeights open(const TemporaryFolder& folder) {
  return CheckpointWeights::open(folder.path(), {});
}

TEST_CASE("weights in parts are found through their index") {
  const TemporaryFolder folder;
  folder.write("model-1.safetensors", numbers({"a", "stray"}));
  folder.write("model-2.safetensors", numbers({"x", "b"}));
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
  const CheckpointWeights weights = open(folder);
  CHECK(weights.names() == std::vector<std::string>{"a", "b"});
  CHECK(weights.read("b").values<float>()[0] == 1);
  CHECK_FALSE(weights.has("stray"));
}

TEST_CASE("a part that is missing, a pointer to one, and an index that lies are named") {
  const TemporaryFolder folder;
  folder.write("model-1.safetensors", numbers({"a"}));
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})");
  const std::string index = (folder / "model.safetensors.index.json").string();
  CHECK(error_from([&] { open(folder); }, ErrorKind::file) ==
        "the part \"model-2.safetensors\" of the weights is missing\n  where: " + index +
            "\n  help:  fetch it too: the index names it");
  const auto pointer = folder.write("model-2.safetensors",
                                    "version https://git-lfs.github.com/spec/v1\noid 1\nsize 9\n");
  CHECK(error_from([&] { open(folder); }) ==
        "\"" + pointer.string() +
            "\" is a Git LFS pointer of 56 bytes, not the weights\n"
            "  help:  fetch the file itself: git lfs pull");
  folder.write("model-2.safetensors", numbers({"c"}));
  CHECK(error_from([&] { open(folder); }) ==
        "the tensor \"b\" is not in \"model-2.safetensors\"\n  where: " + index +
            "\n  help:  the index and the parts do not belong together");
  folder.write("model.safetensors.index.json", R"({"weight_map": {"a": "../secret"}})");
  CHECK(error_from([&] { open(folder); }) ==
        "no name of a part of the weights stands here\n  where: " + index +
            ", /weight_map/a\n  help:  parts are files in the same folder");
  for (const char* text : {"[]", "{}", R"({"weight_map": ["a"]})"}) {
    CAPTURE(text);
    folder.write("model.safetensors.index.json", text);
    CHECK(error_from([&] { open(folder); }) ==
          "the index has no object \"weight_map\"\n  where: " + index +
              ", /weight_map\n  help:  it tells which part holds which tensor");
  }
}

TEST_CASE("a file of weights of another format, and a tensor that is not there, are named") {
  const TemporaryFolder folder;
  const std::string file = folder.write("model.safetensors", "PK and no more").string();
  CHECK(error_from([&] { open(folder); }) == "the weights are no .safetensors file\n  where: " +
                                                 file + "\n  help:  fetch the file again");
  folder.write("model.safetensors", numbers({"wte.weight"}));
  const CheckpointWeights weights = open(folder);
  CHECK(error_from([&] { weights.shape("wpe.weight"); }) ==
        "the weights have no tensor \"wpe.weight\"\n  where: " + file +
            "\n  help:  did you mean \"wte.weight\"?");
}

TEST_CASE("a folder without weights, or with a pickle, says what to do") {
  const TemporaryFolder folder;
  CHECK(
      error_from([&] { open(folder); }, ErrorKind::file) ==
      "there are no weights in the folder \"" + folder.path().string() +
          "\"\n  help:  it should hold model.safetensors, or model.safetensors.index.json and its "
          "parts");
  folder.write("pytorch_model.bin", "PK");
  CHECK(error_from([&] { open(folder); }) ==
        "the folder holds its weights as pytorch_model.bin, a Python pickle, which is not read\n"
        "  where: " +
            folder.path().string() +
            "\n  help:  convert it once where PyTorch is: python3 -c \"import torch, "
            "safetensors.torch as s; s.save_file({k: v.clone().contiguous() for k, v in "
            "torch.load('pytorch_model.bin', map_location='cpu').items()}, 'model.safetensors')\"");
}

}  // namespace
}  // namespace attn
