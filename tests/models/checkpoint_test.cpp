#include "models/checkpoint.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "models/model_folder.hpp"
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
            "\n  help:  download it too: the index names it");
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
        "this does not name a part of the weights\n  where: " + index +
            ", /weight_map/a\n  help:  parts are files in the same folder");
  for (const char* text : {"[]", "{}", R"({"weight_map": ["a"]})"}) {
    CAPTURE(text);
    folder.write("model.safetensors.index.json", text);
    CHECK(error_from([&] { open(folder); }) ==
          "the index has no object \"weight_map\"\n  where: " + index +
              ", /weight_map\n  help:  it says which part holds which tensor");
  }
}

TEST_CASE("a file of weights of another format, and a tensor that is not there, are named") {
  const TemporaryFolder folder;
  const std::string file = folder.write("model.safetensors", "PK and no more").string();
  CHECK(error_from([&] { open(folder); }) ==
        "the weights are neither a .safetensors file nor a file of PyTorch\n  where: " + file +
            "\n  help:  download the file again");
  folder.write("model.safetensors", numbers({"wte.weight"}));
  const CheckpointWeights weights = open(folder);
  CHECK(error_from([&] { weights.shape("wpe.weight"); }) ==
        "the weights have no tensor \"wpe.weight\"\n  where: " + file +
            "\n  help:  did you mean \"wte.weight\"?");
}

TEST_CASE("a folder without weights, and weights in no known format, say what to do") {
  const TemporaryFolder folder;
  CHECK(error_from([&] { open(folder); }, ErrorKind::file) ==
        "there are no weights in the folder \"" + folder.path().string() +
            "\"\n  help:  it should hold model.safetensors or pytorch_model.bin, or an index, "
            "model.safetensors.index.json or pytorch_model.bin.index.json, and its parts");
  const auto told = [&](const std::string& file, const std::string& help) {
    const TemporaryFolder own;
    own.write(file, "x");
    CHECK(error_from([&] { open(own); }, ErrorKind::file) ==
          "there are no weights in the folder \"" + own.path().string() + "\"\n  help:  " + help);
  };
  told("model.safetensors.crdownload",
       "\"model.safetensors.crdownload\" is a download that is not finished");
  told("epoch3.ckpt", "rename \"epoch3.ckpt\" to \"epoch3.pt\": it may be a file of PyTorch");
  for (const std::string file : {"tf_model.h5", "flax_model.msgpack", "model.onnx"}) {
    told(file, "weights of TensorFlow, Flax and ONNX are not read, \"" + file +
                   "\": take the model's safetensors or PyTorch files");
  }
  const std::filesystem::path snapshot = folder / "models--tiny--one" / "snapshots" / "11aa";
  std::filesystem::create_directories(snapshot);
  CHECK(error_from([&] { CheckpointWeights::open(snapshot, {}); }, ErrorKind::file) ==
        "there are no weights in the folder \"" + snapshot.string() +
            "\"\n  help:  only a part of the model was downloaded: hf download tiny/one");
  folder.write("pytorch_model.bin", "PK");
  CHECK(error_from([&] { open(folder); }) ==
        "the weights are neither a .safetensors file nor a file of PyTorch\n  where: " +
            (folder / "pytorch_model.bin").string() + "\n  help:  download the file again");
}

TEST_CASE("weights that torch.save wrote are read by each name that people give them") {
  const std::string bytes =
      read_text(std::string(ATTN_TEST_DATA) + "/io/files/torch/before_1_6.pt");
  for (const char* name : {"pytorch_model.bin", "model.pt", "best.pth"}) {
    CAPTURE(name);
    const TemporaryFolder folder;
    folder.write(name, bytes);
    folder.write("training_args.bin", "a pickle of something else");
    CHECK(open(folder).shape("first") == Shape{3, 4});
  }
  const TemporaryFolder parts;
  parts.write("pytorch_model-1.bin", bytes);
  parts.write("pytorch_model.bin.index.json", R"({"weight_map": {"ids": "pytorch_model-1.bin"}})");
  CHECK(open(parts).names() == std::vector<std::string>{"ids"});
}

TEST_CASE("weights that lie within other things are found by the shape of their embeddings") {
  const auto table = [](std::size_t rows) {
    return Tensor({rows, 4}, std::vector<float>(rows * 4));
  };
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{{"ema.wte.weight", table(7)},
                                         {"state.model.transformer.wte.weight", table(9)},
                                         {"state.model.transformer.wpe.weight", table(5)},
                                         {"state.other", table(1)}};
  folder.write("model.safetensors", safetensors_bytes(tensors));
  CheckpointWeights weights = open(folder);
  weights.find_within(read_architecture(parse_json(
      R"({"model_type": "gpt2", "n_embd": 4, "n_head": 2, "n_layer": 1, "vocab_size": 9})")));
  CHECK(weights.within() == "state.model");
  CHECK(weights.names() == std::vector<std::string>{"ema.wte.weight", "transformer.wte.weight",
                                                    "transformer.wpe.weight", "state.other"});
  CHECK(weights.shape("transformer.wte.weight") == Shape{9, 4});
}

const std::filesystem::path stored_models =
    std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases";

// The error of a checkpoint whose header has `to` instead of `from`; FOLDER stands for its place.
std::string refusal_with(const std::string& name, const std::string& from, const std::string& to) {
  const TemporaryFolder folder;
  for (const char* part : {"config.json", "model.safetensors"}) {
    std::string text = read_text(stored_models / name / "checkpoint" / part);
    if (part == std::string("model.safetensors")) {
      const std::size_t at = text.find(from);
      REQUIRE(at != text.npos);
      text.replace(at, from.size(), to);
      // The header's length stands before it.
      std::uint64_t length = 0;
      std::memcpy(&length, text.data(), sizeof(length));
      length += to.size() - from.size();
      std::memcpy(text.data(), &length, sizeof(length));
    }
    folder.write(part, text);
  }
  std::string said = error_from([&] {
    const ModelFolder model = ModelFolder::open(folder.path(), std::nullopt, {});
    check_weights(model.architecture, model.weights);
  });
  const std::size_t at = said.find(folder.path().string());
  if (at != said.npos) said.replace(at, folder.path().string().size(), "FOLDER");
  return said;
}

struct Spoilt {
  std::string model, from, to, problem, help;
};

TEST_CASE("weights that do not fit the configuration are named before anything is computed") {
  const std::string misfit = "the configuration and the weights do not belong together";
  const std::string query = "model.layers.0.self_attn.q_proj";
  const std::vector<Spoilt> all{
      {"gpt2_bare_names", R"("wte.weight":{"dtype":"F32")", R"("wte.weight":{"dtype":"I32")",
       "the weight \"wte.weight\" is stored as int32",
       "the meaning of such elements is not known: use the model's unquantized folder"},
      {"gpt2_bare_names", R"("shape":[24,72])", R"("shape":[72,24])",
       "h.0.attn.c_attn.weight [72,24] does not fit the configuration: expected [24,72]", misfit},
      {"llama_grouped", R"("shape":[16,32])", R"("shape":[32,16])",
       "model.layers.0.self_attn.k_proj.weight [32,16] does not fit the configuration: expected "
       "[16,32]",
       misfit},
      {"qwen2_bias_bf16", R"("model.layers.0.self_attn.q_proj.bias":{"dtype":"BF16","shape":[32])",
       R"("model.layers.0.self_attn.q_proj.bias":{"dtype":"F64","shape":[8])",
       "model.layers.0.self_attn.q_proj.bias [8] does not fit the configuration: expected [32]",
       misfit},
      {"qwen2_bias_bf16", R"("model.layers.1.self_attn.q_proj.bias")",
       R"("other.layers.1.self_attn.q_proj.bias")",
       "the weights have no tensor \"model.layers.1.self_attn.q_proj.bias\"",
       "did you mean \"model.layers.0.self_attn.q_proj.bias\"?"},
      {"qwen2_bias_bf16", R"("model.layers.0.self_attn.q_proj.bias")",
       R"("other.layers.0.self_attn.q_proj.bias")",
       "the weights have no tensor \"" + query + ".bias\"",
       "did you mean \"model.layers.0.self_attn.k_proj.bias\"?"},
      {"gpt_oss_sinks_bf16", R"("model.layers.1.mlp.experts.down_proj":)",
       R"("other.layers.1.mlp.experts.down_proj":)",
       "the weights have no tensor \"model.layers.1.mlp.experts.down_proj\"",
       "the file is incomplete: download it again"},
      {"qwen2_bias_bf16", R"("model.layers.2.self_attn.o_proj.weight")",
       R"("model.layers.2.self_attn.x_proj.weight")",
       "the weights have no tensor \"model.layers.2.self_attn.o_proj.weight\"",
       "did you mean \"model.layers.0.self_attn.o_proj.weight\"?"},
  };
  for (const Spoilt& spoilt : all) {
    CAPTURE(spoilt.model);
    CAPTURE(spoilt.to);
    CHECK(refusal_with(spoilt.model, spoilt.from, spoilt.to) ==
          spoilt.problem + "\n  where: FOLDER/model.safetensors\n  help:  " + spoilt.help);
  }
}

TEST_CASE("sinks are looked for in each layer of the stack that is asked about") {
  const TemporaryFolder folder;
  folder.write("model.safetensors", numbers({"shared.weight", "encoder.layers.1.attention.sinks",
                                             "decoder.layers.0.attention.sinks"}));
  Architecture model;
  model.prefixes = {""};
  for (const char* prefix : {"encoder.", "decoder."}) {
    ModelStack& stack = model.stacks.emplace_back();
    stack.prefix = prefix;
    stack.names = {{WeightPurpose::tokens, {"shared"}},
                   {WeightPurpose::layer, {"layers.{n}."}},
                   {WeightPurpose::sinks, {"attention.sinks"}}};
    stack.layers.resize(3);
  }
  const CheckpointWeights weights = open(folder);
  CHECK(layers_with_sinks(model, weights, model.stacks[0]) ==
        std::vector<bool>{false, true, false});
  CHECK(layers_with_sinks(model, weights, model.stacks[1]) ==
        std::vector<bool>{true, false, false});
  model.stacks[0].names.erase(WeightPurpose::sinks);
  CHECK(layers_with_sinks(model, weights, model.stacks[0]) == std::vector<bool>(3));
}

TEST_CASE("weights without a table of tokens are no model's") {
  const std::string said = refusal_with("llama_grouped", "embed_tokens", "other_tokens");
  CHECK(said ==
        "the weights have no token embeddings: no tensor \"model.embed_tokens.weight\"\n"
        "  where: FOLDER/model.safetensors\n"
        "  help:  did you mean \"model.other_tokens.weight\"?");
}

}  // namespace
}  // namespace attn
