#include "models/library_keys.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "models/architecture.hpp"
#include "support/translated.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

std::string keys_config(const std::string& type, const std::string& more = "") {
  return R"({"model_type": ")" + type +
         R"(", "hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2)" +
         (more.empty() ? "" : ", " + more) + "}";
}

Architecture keys_model(const std::string& type, const std::string& more = "") {
  return read_architecture(parse_json(keys_config(type, more)));
}

std::string keys_refusal(const std::string& type, const std::string& more) {
  return error_from([&] { keys_model(type, more); });
}

// The sizes and rules that keys of the library's shared code may change.
std::string keys_summary(const Architecture& model) {
  std::string text;
  const auto add = [&](const auto& number) { text += std::to_string(number) + " "; };
  for (const std::size_t size : {model.width, model.heads, model.kv_heads, model.head_width,
                                 model.vocabulary, model.made_for.value_or(0)}) {
    add(size);
  }
  add(model.tied);
  add(model.pad_id.value_or(-1));
  add(model.decoder_start_id.value_or(-1));
  for (const ModelStack& stack : model.stacks) {
    add(stack.causal);
    for (const ModelLayer& layer : stack.layers) {
      add(layer.scale);
      add(layer.window.value_or(0));
      add(layer.rotary ? layer.rotary->theta : 0);
      add(layer.rotary ? layer.rotary->width.value_or(0) : 0);
      add(layer.rotary ? layer.rotary->scaling.index() : 0);
    }
  }
  return text + model.family;
}

TEST_CASE("a decoder that is not causal by its configuration sees keys on both sides") {
  const std::string both = R"("is_causal": false)";
  for (const char* family : {"llama", "gpt2", "qwen3", "gpt_neox", "falcon", "cohere"}) {
    CAPTURE(family);
    CHECK(keys_model(family).stacks[0].causal);
    CHECK_FALSE(keys_model(family, both).stacks[0].causal);
  }
  CHECK_FALSE(keys_model("bert", R"("is_decoder": true, )" + both).stacks[0].causal);
  // Windows reach as far to either side as they reach back otherwise.
  const Architecture windowed = keys_model("mistral", R"("sliding_window": 8, )" + both);
  CHECK_FALSE(windowed.stacks[0].causal);
  CHECK(windowed.stacks[0].layers[0].window == 8);
}

TEST_CASE("families whose code stays causal, or would need other biases, refuse not to be") {
  const std::string refused =
      "\"is_causal\": false is not supported\n"
      "  where: /is_causal\n"
      "  help:  the model would be computed as with true";
  const std::string both = R"("is_causal": false)";
  for (const char* family : {"gpt_neo", "bloom", "mpt", "t5", "bart", "pegasus"}) {
    CAPTURE(family);
    CHECK(keys_refusal(family, both) == refused);
  }
  CHECK(keys_refusal("falcon", R"("alibi": true, )" + both) == refused);
}

TEST_CASE("a window of no keys is refused where a layer has it") {
  const std::string help = "\n  help:  null means that layers have no window";
  CHECK(keys_refusal("mistral", R"("sliding_window": 0)") ==
        "a window of 0 keys hides all keys\n  where: /sliding_window" + help);
  CHECK(keys_refusal("gemma2", R"("sliding_window": 0)") ==
        "a window of 0 keys hides all keys\n  where: /sliding_window" + help);
  CHECK(keys_refusal("gpt_neo", R"("window_size": 0)") ==
        "a window of 0 keys hides all keys\n  where: /window_size" + help);
  CHECK_FALSE(keys_model("qwen2", R"("sliding_window": 0)").stacks[0].layers[0].window);
  // On both sides a query still sees its own key.
  CHECK(keys_model("modernbert", R"("local_attention": 0)").stacks[0].layers[1].window == 0);
}

TEST_CASE("members of a rotation that are not known are a warning, one that counts is refused") {
  CHECK(keys_model("llama", R"("rope_scaling": {"rope_type": "linear", "factor": 2, "speed": 3,
                            "finetuned": true, "sky": 1})")
            .warnings ==
        std::vector<std::string>{"members of \"rope_scaling\" in the configuration are not known "
                                 "and change nothing: \"speed\", \"sky\""});
  CHECK(keys_model("gemma3_text",
                   R"("rope_parameters": {"full_attention": {"rope_type": "default", "sky": 1},
                    "sliding_attention": {"rope_type": "default"}})")
            .warnings ==
        std::vector<std::string>{"members of \"rope_parameters/full_attention\" in the "
                                 "configuration are not known and change nothing: \"sky\""});
  CHECK(keys_refusal("llama", R"("rope_parameters": {"rope_type": "default",
                               "llama_4_scaling_beta": 0.1})") ==
        "\"llama_4_scaling_beta\": 0.1 is not supported\n"
        "  where: /rope_parameters/llama_4_scaling_beta\n"
        "  help:  queries far after the first token would keep their size");
}

TEST_CASE("queries of Ministral 3 grow as its rotation says") {
  const auto growth =
      keys_model("ministral3", R"("rope_parameters": {"rope_type": "yarn", "factor": 2,
      "rope_theta": 100, "original_max_position_embeddings": 16, "llama_4_scaling_beta": 0.1})")
          .stacks[0]
          .layers[1]
          .growth;
  REQUIRE(growth);
  CHECK(growth->scale == 0.1);
  CHECK(growth->length == 16);
  CHECK(growth->shift == 0);
}

TEST_CASE("layers of hybrids are of the parts that lists, letters and periods say") {
  const auto parts = [](const std::string& type, const std::string& more) {
    std::string text;
    for (const ModelLayer& layer : keys_model(type, more).stacks[0].layers) {
      text += std::string(layer.attends ? "a" : "") + (layer.mixes ? "m" : "") +
              (layer.experts ? "e"
               : layer.feeds ? "f"
                             : "") +
              " ";
    }
    return text;
  };
  CHECK(parts("lfm2", R"("layer_types": ["conv", "full_attention"])") == "mf af ");
  CHECK(parts("lfm2", R"("full_attn_idxs": [0])") == "af mf ");
  CHECK(parts("jamba", R"("attn_layer_period": 2, "attn_layer_offset": 0,
              "expert_layer_period": 2, "expert_layer_offset": 0)") == "ae mf ");
  CHECK(parts("nemotron_h", R"("hybrid_override_pattern": "M-*E")") == "m f a e ");
  CHECK(parts("falcon_h1", R"("mamba_n_heads": 8)") == "amf amf ");
  CHECK(keys_refusal("nemotron_h", R"("hybrid_override_pattern": "MX")") ==
        "layers of the type \"X\" are not computed\n"
        "  where: /hybrid_override_pattern\n"
        "  help:  their maps would be those of another attention");
  CHECK(keys_refusal("falcon_h1", R"("mamba_n_heads": 8, "ssm_multipliers": [1, 2])") ==
        "2 factors of a state space, which has 5 parts\n"
        "  where: /ssm_multipliers\n"
        "  help:  give gate, x, B, C and steps one each");
}

TEST_CASE("full layers of Gemma 4 have heads of their own, and the last layers others' keys") {
  const auto read = [](const std::string& more) {
    return read_architecture(parse_json(R"({"model_type": "gemma4_text", "hidden_size": 32,
        "num_attention_heads": 4, "num_key_value_heads": 4, "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        "hidden_size_per_layer_input": 0, )" +
                                        more + "}"));
  };
  const auto refusal = [&](const std::string& more) { return error_from([&] { read(more); }); };
  const auto layers =
      read(R"("global_head_dim": 64, "num_kv_shared_layers": 2, "head_dim": 8)").stacks[0].layers;
  CHECK(layers[0].head_width == 8);
  CHECK(layers[1].head_width == 64);
  CHECK_FALSE(layers[1].keys_of);
  CHECK(layers[2].keys_of == 0);
  CHECK(layers[3].keys_of == 1);
  CHECK(refusal(R"("per_layer_config": {"1": {"sliding_window": 4}})") ==
        "\"sliding_window\" of single layers is not supported\n"
        "  where: /per_layer_config\n"
        "  help:  all layers would have the same");
  CHECK(refusal(R"("per_layer_config": {"1": {"num_key_value_heads": 3}})") ==
        "4 query heads of width 256 cannot share 3 key heads\n"
        "  where: /per_layer_config\n"
        "  help:  check the sizes");
  CHECK(refusal(R"("num_kv_shared_layers": 3)") ==
        "layer 1 takes keys of a layer before it, and none is like it\n"
        "  where: /num_kv_shared_layers\n"
        "  help:  the first layers must be of all types");
}

TEST_CASE("each key that no code here reads is refused with values that would count") {
  for (const RefusedKey& key : library_keys().refused) {
    CAPTURE(key.key);
    const std::string name = "\"" + std::string(key.key) + "\": ";
    for (const std::string& neutral :
         {std::string("null"), std::string("{}"), std::string(key.neutral == 0 ? "0" : "1")}) {
      if (key.key == "quantization_config" && neutral != "null") continue;
      CHECK(keys_summary(keys_model("llama", name + neutral)) == keys_summary(keys_model("llama")));
    }
    if (key.key == "quantization_config" || key.key == "add_cross_attention") continue;
    CHECK(keys_refusal("llama", name + "3") == name + "3 is not supported\n  where: /" +
                                                   std::string(key.key) +
                                                   "\n  help:  " + key.wrong);
  }
  CHECK(keys_refusal("llama", R"("per_layer_config": {"0": {"head_dim": 4}})") ==
        "\"per_layer_config\": an object is not supported\n"
        "  where: /per_layer_config\n"
        "  help:  all layers would have the same sizes and rules");
  CHECK(keys_refusal("llama", R"("transformers_weights": "other.safetensors")") ==
        "\"transformers_weights\": \"other.safetensors\" is not supported\n"
        "  where: /transformers_weights\n"
        "  help:  other weights of the folder would be read");
  CHECK(keys_refusal("bert", R"("add_cross_attention": true)") ==
        "decoders that read another model's states are not computed\n"
        "  where: /add_cross_attention\n"
        "  help:  their maps need that model's states");
}

TEST_CASE("keys without an effect on numbers have none") {
  const std::string plain = keys_summary(keys_model("llama"));
  for (const std::string_view key : library_keys().harmless) {
    CAPTURE(key);
    for (const char* value : {"true", "3", R"("float16")", R"([1, 2])", R"({"0": "a"})"}) {
      const std::string member = "\"" + std::string(key) + "\": " + value;
      CHECK(keys_summary(keys_model("llama", member)) == plain);
      CHECK(keys_model("llama", member).warnings.empty());
    }
  }
}

TEST_CASE("keys that are obeyed change what is computed") {
  const auto changes = [](const std::string& type, const std::string& more,
                          const std::string& before = "") {
    CAPTURE(more);
    CHECK(keys_summary(keys_model(type, before + (before.empty() ? "" : ", ") + more)) !=
          keys_summary(keys_model(type, before)));
  };
  for (const char* more :
       {R"("num_key_value_heads": 2)", R"("head_dim": 16)", R"("vocab_size": 50)",
        R"("max_position_embeddings": 64)", R"("is_causal": false)", R"("rope_theta": 500)",
        R"("rope_parameters": {"rope_theta": 500})", R"("partial_rotary_factor": 0.5)",
        R"("rope_scaling": {"type": "linear", "factor": 2})", R"("tie_word_embeddings": true)",
        R"("pad_token_id": 3)", R"("decoder_start_token_id": 3)"}) {
    changes("llama", more);
  }
  changes("bert", R"("is_decoder": true)");
  changes("mistral", R"("sliding_window": 8)");
  changes("mistral", R"("layer_types": ["full_attention", "sliding_attention"])");
}

TEST_CASE("a configuration without its type is told the one that its class is called by") {
  const auto refused = [](const std::string& name) {
    return error_from([&] {
      read_architecture(parse_json(R"({"architectures": [")" + name + R"("], "hidden_size": 32})"));
    });
  };
  const std::string lacks =
      "the configuration does not give its model_type\n  where: /model_type\n  help:  ";
  const auto called = [&](const std::string& family) {
    return lacks + "write \"model_type\": \"" + family + "\", as its \"architectures\" are called";
  };
  CHECK(refused("LlamaForCausalLM") == called("llama"));
  CHECK(refused("Qwen2MoeForCausalLM") == called("qwen2_moe"));
  CHECK(refused("GPT2LMHeadModel") == called("gpt2"));
  CHECK(refused("SomethingForCausalLM") ==
        lacks + "give one of the families that are known, or a row of your own");
}

TEST_CASE("a window that models of a type do not read is told where it would hide keys") {
  const std::vector<std::string> told{
      "\"sliding_window\" of the configuration is not read in models of the type llama, whose "
      "layers have no window"};
  const std::string longest = R"("max_position_embeddings": 64, )";
  CHECK(keys_model("llama", longest + R"("sliding_window": 8)").warnings == told);
  for (const char* more : {R"("sliding_window": 64)", R"("sliding_window": null)",
                           R"("sliding_window": 8, "use_sliding_window": false)"}) {
    CAPTURE(more);
    CHECK(keys_model("llama", longest + more).warnings.empty());
  }
  CHECK(keys_model("mistral", longest + R"("sliding_window": 8)").warnings.empty());
}

TEST_CASE("the documents name each key, by what becomes of it") {
  for (const char* name : {"checkpoints.md", "checkpoints.zh-CN.md"}) {
    const std::string text =
        read_text(std::filesystem::path(ATTN_TEST_DATA).parent_path() / "docs/inside" / name);
    const auto named = [&](std::string_view key) {
      CAPTURE(name);
      CAPTURE(key);
      CHECK(text.find("`" + std::string(key) + "`") != text.npos);
    };
    for (const KeysByTreatment& keys : {library_keys(), rope_keys()}) {
      for (const std::string_view key : keys.done) named(key);
      for (const std::string_view key : keys.harmless) named(key);
      for (const RefusedKey& key : keys.refused) named(key.key);
    }
  }
}

TEST_CASE("T5 divides its logits by the root of its width as its configuration says, mT5 never") {
  CHECK(keys_model("t5").logit_scale == 1 / std::sqrt(32.0));
  CHECK(keys_model("t5", R"("tie_word_embeddings": false)").logit_scale == 1);
  CHECK(keys_model("t5", R"("tie_word_embeddings": true, "scale_decoder_outputs": false)")
            .logit_scale == 1);
  CHECK(keys_model("mt5", R"("tie_word_embeddings": true)").logit_scale == 1);
}

TEST_CASE(
    "a model of several parts is tied as it says itself, before what its part of texts says") {
  const auto read = [](const std::string& whole, const std::string& part) {
    return read_architecture(parse_json(R"({"model_type": "mistral3", )" + whole +
                                        R"("text_config": {"model_type": "mistral", )" + part +
                                        R"("hidden_size": 32, "num_attention_heads": 4,
                                            "num_key_value_heads": 2, "num_hidden_layers": 2}})"));
  };
  const auto tied = [&](const std::string& whole, const std::string& part) {
    return read(whole, part).tied;
  };
  const std::string yes = R"("tie_word_embeddings": true, )",
                    no = R"("tie_word_embeddings": false, )";
  CHECK(tied(yes, ""));
  CHECK(tied(yes, no));
  CHECK(tied("", yes));
  CHECK_FALSE(tied(no, yes));
  CHECK(read(no, yes).part_tied);
  CHECK_FALSE(read(no, no).part_tied);
  CHECK_FALSE(tied(no, ""));
  CHECK_FALSE(tied("", ""));
}

}  // namespace
}  // namespace attn
