#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/model.hpp"

#include "models/changed_checkpoint.hpp"
#include "models/pass.hpp"

namespace attn {
namespace {

std::string at_the_weights(const std::string& problem, const std::string& help) {
  return problem + "\n  where: FOLDER/model.safetensors\n  help:  " + help;
}

const std::string correct_the_configuration =
    "what it does would be left out: correct the configuration";

double first_number(const Tensor& tensor) {
  return tensor.converted(DType::float64).values<double>()[0];
}

TEST_CASE("a bias that the configuration leaves out is refused with the key that says so") {
  struct Excluded {
    std::string model, bias, key;
  };
  for (const Excluded& wanted : std::vector<Excluded>{
           {"llama_grouped", ".self_attn.q_proj.bias", "attention_bias"},
           {"llama_grouped", ".mlp.gate_proj.bias", "mlp_bias"},
           {"gemma2_soft_caps_bf16", ".self_attn.v_proj.bias", "attention_bias"}}) {
    CAPTURE(wanted.model);
    ChangedCheckpoint checkpoint(wanted.model);
    for (std::size_t n = 0; n < 2; ++n) {
      const std::string name = "model.layers." + std::to_string(n) + wanted.bias;
      std::string weight = name;
      weight.replace(weight.size() - 4, 4, "weight");
      checkpoint.put(name, {checkpoint.tensor(weight).shape()[0]}, 1);
    }
    CHECK(checkpoint.refusal() ==
          at_the_weights("the weights have the bias \"model.layers.0" + wanted.bias +
                             "\", which \"" + wanted.key + "\": false leaves out",
                         correct_the_configuration));
  }
}

TEST_CASE("a key that is turned off leaves out the biases that the family has otherwise") {
  struct Turned {
    std::string model, key, bias;
  };
  for (const Turned& wanted : std::vector<Turned>{
           {"gpt_neox_pythia_f16", "attention_bias",
            "gpt_neox.layers.0.attention.query_key_value.bias"},
           {"smollm3_unturned_window", "attention_bias", "model.layers.0.self_attn.q_proj.bias"},
           {"starcoder2_window", "use_bias", "model.layers.0.self_attn.q_proj.bias"},
           {"opt_offset_two_f16", "enable_bias", "model.decoder.layers.0.self_attn.q_proj.bias"},
           {"gpt_oss_sinks_bf16", "attention_bias", "model.layers.0.self_attn.q_proj.bias"}}) {
    CAPTURE(wanted.model);
    CHECK(ChangedCheckpoint(wanted.model).set(wanted.key, "false").refusal() ==
          at_the_weights("the weights have the bias \"" + wanted.bias + "\", which \"" +
                             wanted.key + "\": false leaves out",
                         correct_the_configuration));
  }
}

TEST_CASE("a bias or a norm that the family does not have is refused, in a layer and behind them") {
  const std::string row = "what it does would be left out: give a row that has it in \"biases\"";
  CHECK(ChangedCheckpoint("mistral_window")
            .put("model.layers.0.self_attn.k_proj.bias", {16}, 1)
            .refusal() ==
        at_the_weights("the weights have the bias \"model.layers.0.self_attn.k_proj.bias\", which "
                       "models of the type \"mistral\" do not have",
                       row));
  CHECK(ChangedCheckpoint("cohere_norms_of_heads").put("model.norm.bias", {16}, 1).refusal() ==
        at_the_weights("the weights have the bias \"model.norm.bias\", which models of the type "
                       "\"cohere\" do not have",
                       row));
  CHECK(ChangedCheckpoint("llama_grouped").put("model.norm.bias", {32}, 1).refusal() ==
        at_the_weights("the weights have the bias \"model.norm.bias\", which models of the type "
                       "\"llama\" do not have",
                       row));
  CHECK(ChangedCheckpoint("phi_head_norms").set("qk_layernorm", "false").refusal() ==
        at_the_weights(
            "layer 0 has a tensor \"model.layers.0.self_attn.k_layernorm.bias\", which has "
            "no place in a model of the type \"phi\"",
            "what it does would be left out: give a row that names it"));
}

TEST_CASE("a bias that the configuration asks for has to be in the file") {
  CHECK(ChangedCheckpoint("llama_grouped").set("attention_bias", "true").refusal() ==
        at_the_weights("the weights have no tensor \"model.layers.0.self_attn.q_proj.bias\"",
                       "no layer of the file has it: correct \"attention_bias\" of config.json"));
  CHECK(ChangedCheckpoint("llama_grouped").set("model_type", "\"qwen2\"").refusal() ==
        at_the_weights("the weights have no tensor \"model.layers.0.self_attn.q_proj.bias\"",
                       "models of the type \"qwen2\" have it, and no layer of the file: "
                       "\"model_type\" of config.json may be that of another model"));
  CHECK(ChangedCheckpoint("bert_pairs")
            .take_away("bert.encoder.layer.0.output.dense.bias")
            .refusal()
            .starts_with("the weights have no tensor \"bert.encoder.layer.0.output.dense.bias\""));
}

TEST_CASE("biases that neither configuration nor family speaks of are in all layers or in none") {
  const std::string weight = "model.layers.0.attention.wqkv";
  ChangedCheckpoint checkpoint("internlm2_grouped");
  checkpoint.set("bias", "null");
  CHECK(checkpoint.refusal() == "no error");
  checkpoint.take_away("model.layers.1.attention.wqkv.bias");
  CHECK(checkpoint.refusal() == at_the_weights("the weights have biases for \"" + weight +
                                                   "\" in some layers and not in layer 1",
                                               "the file is incomplete: download it again"));
  CHECK(checkpoint.set("bias", "false").refusal() ==
        at_the_weights(
            "the weights have the bias \"" + weight + ".bias\", which \"bias\": false leaves out",
            correct_the_configuration));
}

TEST_CASE("a class that predicts tokens is told to lack its head where none is tied") {
  ChangedCheckpoint checkpoint("llama_grouped");
  CHECK(checkpoint.open().warnings.empty());
  checkpoint.take_away("lm_head.weight");
  CHECK(checkpoint.open().warnings ==
        std::vector<std::string>{
            "the file has no tensor \"lm_head.weight\", and \"tie_word_embeddings\" is not true: "
            "no token is predicted"});
  checkpoint.set("architectures", "[\"LlamaModel\"]");
  CHECK(checkpoint.open().warnings.empty());
}

TEST_CASE("a head in the file with other numbers than the embeddings it is tied to is used") {
  ChangedCheckpoint checkpoint("llama_grouped");
  checkpoint.set("tie_word_embeddings", "true");
  const ModelFolder apart = checkpoint.open();
  CHECK_FALSE(apart.architecture.tied);
  CHECK(apart.warnings ==
        std::vector<std::string>{
            "\"tie_word_embeddings\" is true, but \"lm_head.weight\" has other numbers than the "
            "token embeddings: it is used, as transformers does since version 5"});
  const LogitsHead head = read_head(apart.architecture, apart.weights);
  CHECK(first_number(head.words.weight.tensor()) ==
        first_number(checkpoint.tensor("lm_head.weight")));
  // The same numbers, as files of PyTorch have them twice, are the embeddings.
  checkpoint.put("lm_head.weight", checkpoint.tensor("model.embed_tokens.weight"));
  CHECK(checkpoint.open().architecture.tied);
  CHECK(checkpoint.open().warnings.empty());
  // As other types hold them too.
  checkpoint.put("lm_head.weight",
                 checkpoint.tensor("model.embed_tokens.weight").converted(DType::float64));
  CHECK(checkpoint.open().architecture.tied);
  checkpoint.take_away("lm_head.weight");
  CHECK(checkpoint.open().architecture.tied);
}

TEST_CASE("a classifier predicts no tokens, and a model saved alone none by tied embeddings") {
  const auto opened = [](const char* recorded, const std::string& classes) {
    return ChangedCheckpoint(recorded).set("architectures", classes).open();
  };
  const auto predicts = [&](const char* recorded, const std::string& classes) {
    const ModelFolder model = opened(recorded, classes);
    return has_head(model.architecture, model.weights);
  };
  for (const char* classes :
       {R"(["BartForSequenceClassification"])", R"(["BartForQuestionAnswering"])",
        R"(["BartModel"])", R"(["BartForTokenClassification", "BartModel"])"}) {
    CAPTURE(classes);
    CHECK_FALSE(predicts("bart_start_token", classes));
  }
  for (const char* classes : {R"(["BartForConditionalGeneration"])", R"(["TheirOwnWriter"])", "[]",
                              R"(["BartForSequenceClassification", "BartForCausalLM"])"}) {
    CAPTURE(classes);
    CHECK(predicts("bart_start_token", classes));
  }
  CHECK_FALSE(predicts("modernbert_local_global", R"(["ModernBertForSequenceClassification"])"));
  CHECK_FALSE(predicts("llama_grouped", R"(["LlamaForRewardModelling"])"));
  // A head of its own in the file counts for a model saved alone.
  CHECK(predicts("llama_grouped", R"(["LlamaModel"])"));
  const ModelFolder ranks = opened("llama_grouped", R"(["LlamaForSequenceClassification"])");
  CHECK(ranks.warnings == std::vector<std::string>{
                              "the file has no tensor \"score.weight\": what models of the class "
                              "\"LlamaForSequenceClassification\" predict is not computed"});
  CHECK(opened("llama_grouped", R"(["LlamaForRewardModelling"])").warnings ==
        std::vector<std::string>{"what models of the class \"LlamaForRewardModelling\" predict is "
                                 "not computed: there are maps and states alone"});
  CHECK(no_head_text(ranks.architecture) ==
        "models of the class \"LlamaForSequenceClassification\" have no head that gives logits");
}

TEST_CASE("an encoder and a decoder with tables of their own read those, tied to nothing or not") {
  ChangedCheckpoint checkpoint("bart_start_token");
  const Tensor shared = checkpoint.tensor("model.shared.weight");
  checkpoint.put("model.decoder.embed_tokens.weight", shared.shape(), 0.5F);
  const ModelFolder folder = checkpoint.open();
  const ModelTexts texts;
  const ModelOptions options;
  const ModelPass pass{folder.architecture, folder.weights, texts, options};
  const auto first = [&](const ModelStack& stack) {
    return first_number(read_stack(pass, stack).embedding.tokens.tensor());
  };
  CHECK(first(folder.architecture.stacks[0]) == first_number(shared));
  CHECK(first(folder.architecture.stacks[1]) == 0.5);
}

TEST_CASE(
    "tensors that nothing reads are counted and named, as far as the library would list them") {
  const auto warning = [](const ChangedCheckpoint& checkpoint) {
    const ModelFolder model = checkpoint.open();
    return unread_warning(model.architecture, model.weights,
                          check_weights(model.architecture, model.weights));
  };
  CHECK_FALSE(warning(ChangedCheckpoint("llama_grouped")));
  // Causal masks, tables of positions and angles, and parts that classes of the library have.
  CHECK_FALSE(warning(ChangedCheckpoint("llama_grouped")
                          .put("model.layers.0.self_attn.rotary_emb.inv_freq", {4}, 1)
                          .put("pooler.dense.weight", {32, 32}, 1)));
  CHECK(
      warning(ChangedCheckpoint("llama_grouped").put("score.weight", {2, 32}, 1)) ==
      "nothing reads 1 tensor of the file: score.weight; score.weight is the head of a model that "
      "classifies, and \"architectures\" of config.json must name its class, such as "
      "BertForSequenceClassification");
  // A bias of the head that the family does not have.
  CHECK(warning(ChangedCheckpoint("llama_grouped").put("lm_head.bias", {60}, 1)) ==
        "nothing reads 1 tensor of the file: lm_head.bias");
  CHECK(warning(ChangedCheckpoint("llama_grouped").set("num_hidden_layers", "1")) ==
        "nothing reads 9 tensors of the file: model.layers.1.input_layernorm.weight, "
        "model.layers.1.mlp.down_proj.weight, model.layers.1.mlp.gate_proj.weight and 6 more; "
        "\"num_hidden_layers\" of config.json is 1, and the weights have 2");
  // Of a model of several parts only that of the texts counts.
  CHECK_FALSE(warning(
      ChangedCheckpoint("qwen3_5_text_part").put("model.visual.patch_embed.weight", {2, 2}, 1)));
}

}  // namespace
}  // namespace attn
