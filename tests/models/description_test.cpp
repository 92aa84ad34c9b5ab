#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/model.hpp"

#include "models/changed_checkpoint.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

const std::filesystem::path stored_models =
    std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases";

CheckpointFolder stored(const std::string& name) {
  CheckpointFolder folder;
  folder.path = stored_models / name / "checkpoint";
  return folder;
}

TEST_CASE("the description of a model tells what its family computes") {
  struct Described {
    std::string model, positions, norm, activation, mask, head;
  };
  for (const Described& wanted : std::vector<Described>{
           {"bert_pairs", "learned, at most 24", "layer norm, ε 1e-12", "gelu (exact)", "full",
            "tied to the token embeddings"},
           {"bloom_alibi_f16", "ALiBi", "layer norm, ε 1e-05", "gelu (by tanh)", "causal",
            "tied to the token embeddings"},
           {"pegasus_sinusoids", "sinusoidal", "layer norm, ε 1e-05", "gelu (exact)",
            "full; causal", "tied to the token embeddings"},
           {"mpnet_buckets", "learned, at most 10; relative, in 32 buckets up to 128",
            "layer norm, ε 1e-12", "gelu (by tanh)", "full", "tied to the token embeddings"},
           {"t5_relu_tied", "relative, in 32 buckets up to 128", "RMS norm, ε 1e-06", "relu",
            "full; causal", "tied to the token embeddings"},
           {"mt5_gated", "relative, in 32 buckets up to 20", "RMS norm, ε 1e-05", "gelu (by tanh)",
            "full; causal", "of its own"},
           {"gptj_pairs", "rotary in pairs, 4 of 4 columns, θ 10000, made for 24",
            "layer norm, ε 1e-05", "gelu (by tanh)", "causal", "of its own"},
           {"olmo_bare_norms_clipped", "rotary by halves, 4 of 4 columns, θ 10000",
            "layer norm without weights, ε 1e-05", "silu", "causal", "of its own"},
           {"t5gemma_larger_encoder", "rotary by halves, 6 of 6 columns, θ 100, made for 64",
            "RMS norm, weights counted from 1, ε 1e-06", "gelu (by tanh)",
            "full, 2 of 3 layers with a window of 2 keys on either side; causal, 1 of 2 layers "
            "with a window of 3 keys",
            "tied to the token embeddings"},
           {"deberta_v3_shared",
            "terms with contents, distances up to 24 in 8 buckets on either side",
            "layer norm, ε 1e-07", "gelu (exact)", "full", "tied to the token embeddings"},
           {"deberta_v2_apart", "learned, at most 24; terms with contents, distances up to 6",
            "layer norm, ε 1e-07", "gelu (exact)", "full", "tied to the token embeddings"},
           {"xlnet_types_and_distances", "terms with contents, sinusoidal distances up to 4",
            "layer norm, ε 1e-12", "gelu (exact)", "full", "tied to the token embeddings"},
           {"mistral_window", "rotary by halves, 8 of 8 columns, θ 10000, made for 64",
            "RMS norm, ε 1e-05", "silu", "causal, 2 of 2 layers with a window of 5 keys",
            "of its own"},
           {"gemma3_both_sides", "rotary by halves, 8 of 8 columns, θ 200, made for 64",
            "RMS norm, weights counted from 1, ε 1e-05", "gelu (by tanh)",
            "full, 1 of 2 layers with a window of 2 keys on either side",
            "tied to the token embeddings"}}) {
    CAPTURE(wanted.model);
    const std::string text = model_text(stored(wanted.model));
    CAPTURE(text);
    const auto says = [&](const std::string& line) {
      return text.find("\n  " + line + "\n") != text.npos;
    };
    CHECK(says("positions   " + wanted.positions));
    CHECK(says("norm        " + wanted.norm));
    CHECK(says("activation  " + wanted.activation));
    CHECK(says("mask        " + wanted.mask));
    CHECK(says("head        " + wanted.head));
  }
}

TEST_CASE("a description names all tensors that nothing reads, and none that something does") {
  ChangedCheckpoint checkpoint("llama_grouped");
  for (const char* layer : {"3", "4", "5", "12"}) {
    checkpoint.put("model.layers." + std::string(layer) + ".up.weight", {2}, 1);
  }
  checkpoint.put("score.weight", {2}, 1);
  static_cast<void>(checkpoint.open());
  CheckpointFolder folder;
  folder.path = checkpoint.path();
  CHECK(model_text(folder).find("  ignored     model.layers.3–5/12.up.weight, score.weight\n") !=
        std::string::npos);
  CHECK(model_json(folder).find("\"ignored\": [\n    \"model.layers.12.up.weight\",") !=
        std::string::npos);
  CHECK(model_text(stored("llama_grouped")).find("ignored") == std::string::npos);
}

TEST_CASE("a folder is validated with all that a run would need of it") {
  CHECK(validate_model(stored("llama_grouped")).problems.empty());
  const TemporaryFolder folder;
  folder.write("config.json",
               read_text(stored_models / "llama_grouped" / "checkpoint" / "config.json"));
  CheckpointFolder broken;
  broken.path = folder.path();
  const auto problem = [&] {
    const Validation validation = validate_model(broken);
    REQUIRE(validation.problems.size() == 1);
    CHECK(validation.input == folder.path().string());
    return validation.problems[0].problem();
  };
  CHECK(problem() == "there are no weights in the folder \"" + folder.path().string() + "\"");
  folder.write("model.safetensors",
               read_text(stored_models / "llama_grouped" / "checkpoint" / "model.safetensors"));
  folder.write("tokenizer.json", "[]");
  CHECK(problem() == "expected an object");
}

}  // namespace
}  // namespace attn
