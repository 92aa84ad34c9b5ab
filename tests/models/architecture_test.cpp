#include "models/architecture.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "models/family_row.hpp"

namespace attn {
namespace {

Architecture architecture_of(const std::string& config) {
  return read_architecture(parse_json(config));
}

std::string refusal_of(const std::string& config) {
  return error_from([&] { architecture_of(config); });
}

constexpr const char* sizes =
    R"("hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 6)";

std::string with_sizes(const std::string& type, const std::string& more = "") {
  return R"({"model_type": ")" + type + R"(", )" + sizes + (more.empty() ? "" : ", " + more) + "}";
}

TEST_CASE("keys that a configuration leaves out have the default of their family") {
  const Architecture llama = architecture_of(with_sizes("llama"));
  CHECK(llama.eps == 1e-6);
  CHECK(llama.kv_heads == 4);
  CHECK(llama.head_width == 8);
  CHECK_FALSE(llama.tied);
  REQUIRE(llama.stacks.size() == 1);
  REQUIRE(llama.stacks[0].layers.size() == 6);
  CHECK(llama.stacks[0].causal);
  CHECK(llama.stacks[0].layers[5].rotary->theta == 10000);
  CHECK(architecture_of(with_sizes("bert")).eps == 1e-12);
  CHECK(architecture_of(with_sizes("gemma")).head_width == 256);
  CHECK(architecture_of(with_sizes("gemma")).tied);
}

TEST_CASE("null means the default, as does a key that is not there") {
  const Architecture model =
      architecture_of(with_sizes("mistral", R"("head_dim": null, "num_key_value_heads": null)"));
  CHECK(model.head_width == 8);
  CHECK(model.kv_heads == 4);
  CHECK(model.stacks[0].layers[0].window == 4096);
  CHECK_FALSE(architecture_of(with_sizes("mistral", R"("sliding_window": null)"))
                  .stacks[0]
                  .layers[0]
                  .window);
  CHECK_FALSE(architecture_of(with_sizes("gemma2", R"("attn_logit_softcapping": null)")).softcap);
  CHECK(architecture_of(with_sizes("gemma2")).softcap == 50);
}

TEST_CASE("Gemma 3 caps its logits where the configuration says so, its scores never") {
  const Architecture model = architecture_of(with_sizes(
      "gemma3_text", R"("attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0)"));
  CHECK_FALSE(model.softcap);
  CHECK(model.logit_softcap == 3);
}

TEST_CASE("the activation of Gemma is what the version that wrote the configuration takes") {
  const auto activation = [](const std::string& keys) {
    return architecture_of(with_sizes("gemma", keys)).activation;
  };
  CHECK(activation(R"("hidden_act": "silu")") == Activation::gelu_tanh);
  CHECK(activation(R"("hidden_act": "silu", "transformers_version": "4.57.1")") ==
        Activation::gelu_tanh);
  CHECK(activation(R"("hidden_act": "silu", "transformers_version": "5.24.0")") ==
        Activation::silu);
  CHECK(activation(R"("hidden_act": "gelu", "transformers_version": "5.24.0")") ==
        Activation::gelu_tanh);
}

TEST_CASE("an activation that convolutions of linear attention do not take is warned of") {
  const std::string warning =
      "the convolutions of linear attention are followed by SiLU, as in transformers 5.10; 5.24 "
      "takes \"hidden_act\" there";
  const auto warnings = [](const std::string& act) {
    return architecture_of(with_sizes("qwen3_next", R"("hidden_act": ")" + act + "\"")).warnings;
  };
  CHECK(warnings("gelu") == std::vector<std::string>{warning});
  CHECK(warnings("silu").empty());
}

TEST_CASE("rotations in which versions of transformers differ are warned of") {
  using Warnings = std::vector<std::string>;
  const auto warnings = [](const std::string& type, const std::string& keys) {
    return architecture_of(with_sizes(type, keys)).warnings;
  };
  CHECK(warnings("phimoe", R"("original_max_position_embeddings": 8, "rope_scaling": {
                 "type": "longrope", "short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2],
                 "short_mscale": 1.1, "long_mscale": 1.1})") ==
        Warnings{"texts beyond \"original_max_position_embeddings\" are rotated by "
                 "\"long_factor\", as in training; transformers 5.24 takes \"short_factor\""});
  CHECK(warnings("phimoe", "").empty());
  CHECK(
      warnings("cohere", R"("transformers_version": "4.40.0")") ==
      Warnings{"there is no \"rope_theta\", which means 500000, as in transformers 5; in 4, which "
               "wrote the configuration, it meant 10000"});
  CHECK(warnings("cohere", R"("transformers_version": "4.40.0", "rope_theta": 8e6)").empty());
  CHECK(warnings("cohere", R"("transformers_version": "5.24.0")").empty());
  CHECK(warnings("cohere", "").empty());
}

TEST_CASE("windows are in the layers that the family or layer_types say") {
  const auto windows = [](const std::string& config) {
    std::string shown;
    const Architecture model = architecture_of(config);
    for (const ModelLayer& layer : model.stacks[0].layers) {
      shown += layer.window ? 'w' : '.';
    }
    return shown;
  };
  CHECK(windows(with_sizes("gemma2")) == "w.w.w.");
  CHECK(windows(with_sizes("gemma3_text", R"("sliding_window": 4)")) == "wwwww.");
  CHECK(windows(with_sizes("gemma3_text", R"("sliding_window": 4, "sliding_window_pattern": 3)")) ==
        "ww.ww.");
  CHECK(windows(with_sizes("modernbert")) == ".ww.ww");
  CHECK(windows(with_sizes("qwen2", R"("sliding_window": 4, "max_window_layers": 2)")) == "......");
  CHECK(windows(with_sizes("qwen2", R"("sliding_window": 4, "max_window_layers": 2,
                           "use_sliding_window": true)")) == "..wwww");
  CHECK(windows(with_sizes("qwen2_moe", R"("sliding_window": 4, "max_window_layers": 4,
                           "use_sliding_window": true)")) == "w.w...");
  CHECK(windows(with_sizes("qwen3_moe", R"("sliding_window": 4, "max_window_layers": 4,
                           "use_sliding_window": true)")) == "wwwwww");
  CHECK(windows(with_sizes("gpt_neo", R"("attention_layers":
                           ["global", "local", "local", "global", "local", "global"])")) ==
        ".ww.w.");
  CHECK(windows(with_sizes("mistral", R"("layer_types": ["full_attention", "sliding_attention",
      "full_attention", "full_attention", "full_attention", "sliding_attention"])")) == ".w...w");
}

TEST_CASE("a list of types that ends before the last layer is refused") {
  CHECK(refusal_of(with_sizes("mistral", R"("layer_types": ["full_attention"])")) ==
        "1 type for 6 layers\n"
        "  where: /layer_types\n"
        "  help:  give one type for each layer");
}

TEST_CASE(
    "SmolLM 3 has windows where it does not turn, EmbeddingGemma half of one on either side") {
  const Architecture small = architecture_of(
      with_sizes("smollm3", R"("no_rope_layer_interval": 2, "use_sliding_window": true,
                               "sliding_window": 8)"));
  CHECK(small.tied);
  for (std::size_t n = 0; n < 6; ++n) {
    const bool turned = n % 2 == 0;
    CHECK(small.stacks[0].layers[n].rotary.has_value() == turned);
    CHECK(small.stacks[0].layers[n].window.has_value() == !turned);
  }
  const Architecture both = architecture_of(
      with_sizes("gemma3_text", R"("sliding_window": 9, "use_bidirectional_attention": true)"));
  CHECK_FALSE(both.stacks[0].causal);
  CHECK(both.stacks[0].layers[0].window == 4);
}

TEST_CASE("multipliers are taken by the families that read them and refused by all others") {
  const std::string more = R"("embedding_multiplier": 12, "attention_multiplier": 0.25,
      "residual_multiplier": 0.5, "logits_scaling": 8)";
  const Architecture granite = architecture_of(with_sizes("granite", more));
  CHECK(granite.embedding_scale == 12);
  CHECK(granite.branch_scale == 0.5);
  CHECK(granite.logit_scale == 0.125);
  CHECK(granite.stacks[0].layers[0].scale == 0.25);
  CHECK(refusal_of(with_sizes("llama", R"("residual_multiplier": 0.5)")) ==
        "\"residual_multiplier\": 0.5 is not supported\n"
        "  where: /residual_multiplier\n"
        "  help:  branches would be added as they are");
  CHECK(refusal_of(with_sizes("llama", R"("attention_multiplier": 0.5)")) ==
        "\"attention_multiplier\": 0.5 is not supported\n"
        "  where: /attention_multiplier\n"
        "  help:  scores would be scaled by the width of a head");
  CHECK(refusal_of(with_sizes("granite", R"("logits_scaling": 0)")) ==
        "\"logits_scaling\" is 0, which is not a positive number\n"
        "  where: /logits_scaling\n"
        "  help:  the states would not be numbers: use the configuration as published");
}

TEST_CASE("EXAONE 4 leaves full layers unturned where other layers have a window") {
  const auto turned = [](const std::string& more) {
    std::string shown;
    const Architecture model = architecture_of(with_sizes("exaone4", more));
    for (const ModelLayer& layer : model.stacks[0].layers) {
      shown += layer.rotary ? 't' : '.';
    }
    return shown;
  };
  CHECK(turned(R"("sliding_window": 4)") == "ttt.tt");
  CHECK(turned(R"("sliding_window": null)") == "tttttt");
}

TEST_CASE("layers without experts stand where the configuration puts them") {
  const Architecture model =
      architecture_of(with_sizes("qwen2_moe", R"("num_experts": 4, "decoder_sparse_step": 2,
                                 "mlp_only_layers": [3])"));
  std::string shown;
  for (const ModelLayer& layer : model.stacks[0].layers) shown += layer.experts ? 'e' : '.';
  CHECK(shown == ".e...e");
  CHECK(model.experts->shares == ShareRule::of_all);
  CHECK(architecture_of(with_sizes("mixtral")).experts->shares == ShareRule::of_chosen);
  CHECK_FALSE(architecture_of(with_sizes("mixtral")).experts->limit);
  CHECK(architecture_of(with_sizes("phimoe")).experts->nearness == 0.02);
}

TEST_CASE("ESM turns or looks positions up, by a name in its configuration") {
  const Architecture turned =
      architecture_of(with_sizes("esm", R"("position_embedding_type": "rotary",
                                           "token_dropout": true, "mask_token_id": 32)"));
  CHECK(turned.stacks[0].layers[0].rotary);
  CHECK(turned.hidden->id == 32);
  const Architecture learned = architecture_of(with_sizes("esm"));
  CHECK(learned.positions == ModelPositions::learned);
  CHECK_FALSE(learned.hidden);
  CHECK(refusal_of(with_sizes("esm", R"("position_embedding_type": "relative_key")")) ==
        "positions of the type \"relative_key\" are not computed\n"
        "  where: /position_embedding_type\n"
        "  help:  the maps would lack the scores of their distances");
}

TEST_CASE("MPT keeps the rules of its attention in an object of their own") {
  const Architecture model =
      architecture_of(with_sizes("mpt", R"("attn_config": {"clip_qkv": 4, "softmax_scale": 0.5})"));
  CHECK(model.clip == 4);
  CHECK(model.alibi_odd_first);
  CHECK(model.stacks[0].layers[0].scale == 0.5);
}

TEST_CASE("the language part of a larger model may leave sizes to its family") {
  const Architecture gemma = architecture_of(R"({"model_type": "gemma3", "text_config":
      {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34}})");
  CHECK(gemma.heads == 8);
  CHECK(gemma.kv_heads == 4);
  CHECK(gemma.head_width == 256);
  const Architecture llama = architecture_of(
      R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064}})");
  CHECK(llama.width == 4096);
  CHECK(llama.kv_heads == 32);
  const Architecture mistral = architecture_of(R"({"model_type": "llava", "text_config":
      {"model_type": "mistral", "hidden_size": 32, "num_attention_heads": 4}})");
  CHECK(mistral.kv_heads == 4);
  CHECK(refusal_of(R"({"model_type": "llama", "vocab_size": 32064})") ==
        "the configuration does not give the width\n"
        "  help:  it is looked for under hidden_size, n_embd, n_embed, d_model, dim, emb_dim");
}

TEST_CASE("numbers of a configuration that are no sizes divide by nothing and turn nothing") {
  for (const std::string step : {"1e300", "18446744073709551616", "0", "-5", "0.5"}) {
    CAPTURE(step);
    CHECK_NOTHROW(architecture_of(
        with_sizes("gemma3_text", R"("sliding_window": 4, "sliding_window_pattern": )" + step)));
  }
  for (const std::string share : {"1e300", "-1", "0"}) {
    CAPTURE(share);
    CHECK(refusal_of(with_sizes("gpt_neox", R"("rotary_pct": )" + share))
              .find(" columns of heads ") != std::string::npos);
  }
}

TEST_CASE("values that would make no numbers are refused at their key") {
  const auto key_of = [](const std::string& more, const std::string& type = "llama") {
    const std::string text = refusal_of(with_sizes(type, more));
    const std::size_t at = text.find("where: ");
    return at == std::string::npos ? text : text.substr(at + 7, text.find('\n', at) - at - 7);
  };
  CHECK(refusal_of(with_sizes("llama", R"("rope_theta": 0)")) ==
        "\"rope_theta\" is 0, which is not a positive number\n"
        "  where: /rope_theta\n"
        "  help:  the states would not be numbers: use the configuration as published");
  CHECK(key_of(R"("rope_theta": -10000)") == "/rope_theta");
  CHECK(key_of(R"("rms_norm_eps": -1)") == "/rms_norm_eps");
  CHECK(key_of(R"("rope_scaling": "linear")") == "/rope_scaling");
  CHECK(key_of(R"("rope_scaling": [1])") == "/rope_scaling");
  CHECK(key_of(R"("rope_scaling": {"type": 3})") == "/rope_scaling/type");
  CHECK(key_of(R"("rope_scaling": {"type": "linear", "factor": 0})") == "/rope_scaling/factor");
  CHECK(key_of(R"("rope_scaling": {"type": "yarn", "factor": 2,
                   "original_max_position_embeddings": 0})") ==
        "/rope_scaling/original_max_position_embeddings");
  CHECK(key_of(R"("max_position_embeddings": 8, "rope_scaling": {"type": "longrope",
                   "short_factor": ["a", 1, 1, 1], "long_factor": [1, 1, 1, 1]})") ==
        "/rope_scaling/short_factor");
  CHECK(key_of(R"("max_position_embeddings": 8, "rope_scaling": {"type": "longrope",
                   "short_factor": [1, 1, 1, 1], "long_factor": [1, 0, 1, 1]})") ==
        "/rope_scaling/long_factor");
  CHECK(key_of(R"("rope_parameters": 7)") == "/rope_parameters");
  CHECK(key_of(R"("rope_parameters": {"full_attention": 3})") == "/rope_parameters/full_attention");
  CHECK(key_of(R"("attn_logit_softcapping": 0)", "gemma2") == "/attn_logit_softcapping");
  CHECK(key_of(R"("query_pre_attn_scalar": 0)", "gemma2") == "/query_pre_attn_scalar");
  CHECK(refusal_of(R"({"model_type": "llama", "hidden_size": 32, "num_attention_heads": 4,
                       "num_hidden_layers": 1000000})") ==
        "the configuration asks for 1000000 layers\n"
        "  help:  no model has more than 10000");
}

TEST_CASE("sizes that make no model are refused at their key") {
  struct Refused {
    std::string config, said;
  };
  for (const Refused& refused : std::vector<Refused>{
           {"[]",
            "the configuration is an array, not an object\n"
            "  help:  this is not the config.json of a model"},
           {with_sizes("bart", R"("decoder_attention_heads": 2)"),
            "encoder and decoder have different numbers of heads\n"
            "  where: /decoder_attention_heads\n"
            "  help:  the decoder's heads would be cut wrongly"},
           {with_sizes("llama", R"("head_dim": 0)"),
            "the heads have no width\n  where: /head_dim\n  help:  check the sizes"},
           {with_sizes("llama", R"("head_dim": 1048577)"),
            "the configuration asks for a size of 1048577\n"
            "  help:  no size of a model is beyond 1048576"},
           {with_sizes("roberta", R"("pad_token_id": -5)"),
            "positions cannot begin at -4\n"
            "  where: /pad_token_id\n"
            "  help:  they begin after the id of the padding token"},
           {with_sizes("mpnet", R"("relative_attention_num_buckets": 2)"),
            "distances up to 128 cannot be put into 2 buckets\n"
            "  where: /relative_attention_num_buckets\n"
            "  help:  give at least 4, and a distance of more than half as many"},
           {with_sizes("gpt_oss", R"("num_local_experts": 4, "num_experts_per_tok": 5)"),
            "each token takes 5 of 4 experts\n"
            "  where: /num_experts_per_tok\n"
            "  help:  from one to all of them can be used"},
           {with_sizes("llama", R"("num_local_experts": 4)"),
            "feed-forwards that choose among experts are not computed\n"
            "  where: /num_local_experts\n"
            "  help:  families that have experts, such as mixtral, have rows of their own"},
           {with_sizes("gpt2", R"("add_cross_attention": true)"),
            "decoders that read another model's states are not computed\n"
            "  where: /add_cross_attention\n"
            "  help:  their maps need that model's states"},
           {with_sizes("llama", R"("hidden_act": 5)"),
            "expected a string, found a number\n"
            "  where: /hidden_act\n"
            "  help:  this is not a configuration as the libraries write it"}}) {
    CAPTURE(refused.config);
    CHECK(refusal_of(refused.config) == refused.said);
  }
}

TEST_CASE("a row that says what is not known, or names no tensors, is refused") {
  const auto refused = [](const std::string& row) {
    return error_from([&] {
      const JsonValue own = parse_json(row);
      read_architecture(parse_json(with_sizes("llama")), &own);
    });
  };
  CHECK(refused(R"({"like": "llama", "norm": "batch"})") ==
        "the row says \"norm\": \"batch\"\n  where: /norm\n"
        "  help:  known: layer, layer_bare, layer_plus_one, rms, rms_bare, rms_plus_one");
  CHECK(refused(R"({"like": "llama", "norm": 5})") ==
        "expected a string, found a number\n  where: /norm\n"
        "  help:  model_row() gives a row as it should be");
  CHECK(refused(R"({"like": "gpt2", "stored": "turned"})") ==
        "the row says \"stored\": \"turned\"\n  where: /stored\n  help:  known: input_by_output");
  CHECK(refused(R"({"like": "roberta", "position_offset": "pad"})") ==
        "the row says \"position_offset\": \"pad\"\n  where: /position_offset\n"
        "  help:  did you mean \"pad_plus_one\"?");
  CHECK(refused(R"({"norm": "layer"})") ==
        "the row names no tensors\n  where: /names\n  help:  give \"names\"");
}

TEST_CASE("what a row says with false is not so") {
  const JsonValue row = parse_json(
      R"({"like": "olmo2", "whole_width_norms": false, "logits_by_root_of_width": false,
          "alibi_scaled": false, "tied": true})");
  const Architecture model = read_architecture(parse_json(with_sizes("olmo2")), &row);
  CHECK_FALSE(model.whole_width_norms);
  CHECK_FALSE(model.alibi_scaled);
  CHECK(model.logit_scale == 1);
  CHECK(architecture_of(with_sizes("olmo2")).whole_width_norms);
}

TEST_CASE("lists of layers that are no lists of numbers are refused") {
  const std::string help = "\n  help:  this is not a configuration as the libraries write it";
  CHECK(refusal_of(with_sizes("smollm3", R"("no_rope_layers": 4)")) ==
        "expected a list of numbers, found a number\n  where: /no_rope_layers" + help);
  CHECK(refusal_of(with_sizes("smollm3", R"("no_rope_layers": [1, true])")) ==
        "expected a list of numbers, found true\n  where: /no_rope_layers" + help);
  CHECK(refusal_of(with_sizes("gpt_neo", R"("attention_types": [[["global", "local"], 0.5]])")) ==
        "expected a list of types and how often they occur, found an array\n"
        "  where: /attention_types" +
            help);
}

TEST_CASE("rotary positions are read from old and new configurations") {
  const auto first = [](const std::string& config) {
    return *architecture_of(config).stacks[0].layers[0].rotary;
  };
  const Rotary old_one = first(with_sizes("llama", R"("rope_theta": 500, "rope_scaling":
      {"type": "linear", "factor": 2})"));
  CHECK(old_one.theta == 500);
  CHECK(std::get<LinearScaling>(old_one.scaling).factor == 2);
  const Rotary new_one = first(with_sizes("llama", R"("rope_parameters":
      {"rope_type": "linear", "rope_theta": 500, "factor": 2})"));
  CHECK(new_one.theta == 500);
  CHECK(std::get<LinearScaling>(new_one.scaling).factor == 2);
  CHECK(first(with_sizes("gpt_neox", R"("rotary_pct": 0.5)")).width == 4);
  CHECK(first(with_sizes("gptj", R"("rotary_dim": 6)")).interleaved);

  const Architecture by_kind = architecture_of(with_sizes("gemma3_text", R"("head_dim": 8,
      "rope_parameters": {
        "full_attention": {"rope_type": "linear", "rope_theta": 1000, "factor": 8},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10}})"));
  const auto& layers = by_kind.stacks[0].layers;
  CHECK(layers[0].rotary->theta == 10);
  CHECK(std::holds_alternative<std::monostate>(layers[0].rotary->scaling));
  CHECK(layers[5].rotary->theta == 1000);
  CHECK(std::get<LinearScaling>(layers[5].rotary->scaling).factor == 8);
}

TEST_CASE("the language part of a model of several parts is read, with its prefixes") {
  const Architecture model = architecture_of(R"({"model_type": "gemma3", "text_config":
      {"model_type": "gemma3_text", "hidden_size": 8, "num_attention_heads": 2,
       "num_hidden_layers": 2, "head_dim": 4}})");
  CHECK(model.family == "gemma3_text");
  CHECK(model.prefixes ==
        std::vector<std::string>{"model.", "language_model.model.", "model.language_model.", ""});
}

TEST_CASE("an encoder has the layers of its own key, whatever those of all layers say") {
  const Architecture bart =
      architecture_of(with_sizes("bart", R"("encoder_layers": 3, "decoder_layers": 2)"));
  CHECK(bart.stacks[0].layers.size() == 3);
  CHECK(bart.stacks[1].layers.size() == 2);
}

TEST_CASE("OPT's norms stand behind the residuals where the configuration says so") {
  const auto names = [](const std::string& config) {
    return architecture_of(config).stacks[0].names;
  };
  CHECK(names(with_sizes("opt")).contains(WeightPurpose::before_attention));
  CHECK(names(with_sizes("opt")).contains(WeightPurpose::final_norm));
  CHECK_FALSE(names(with_sizes("opt", R"("_remove_final_layer_norm": true)"))
                  .contains(WeightPurpose::final_norm));
  const TensorNames after = names(with_sizes("opt", R"("do_layer_norm_before": false)"));
  CHECK_FALSE(after.contains(WeightPurpose::before_attention));
  CHECK_FALSE(after.contains(WeightPurpose::final_norm));
  CHECK(after.at(WeightPurpose::after_attention_sum) ==
        std::vector<std::string>{"self_attn_layer_norm"});
}

TEST_CASE("a row of one's own can take over another and change it") {
  const JsonValue row =
      parse_json(R"({"like": "llama", "norm": "layer", "names": {"output": "self_attn.dense"}})");
  const Architecture model = read_architecture(parse_json(with_sizes("tomorrow")), &row);
  CHECK(model.family == "tomorrow");
  CHECK(model.norm == NormKind::layer);
  CHECK(model.stacks[0].names.at(WeightPurpose::output) ==
        std::vector<std::string>{"self_attn.dense"});
  CHECK(model.stacks[0].names.at(WeightPurpose::query) ==
        std::vector<std::string>{"self_attn.q_proj"});
}

TEST_CASE(
    "values that a family's own code computes differently are refused, null and known ones are "
    "not") {
  CHECK(refusal_of(with_sizes("nomic_bert", R"("prenorm": true)")) ==
        "\"prenorm\": true is not supported\n"
        "  where: /prenorm\n"
        "  help:  the model would be computed as with false");
  CHECK(refusal_of(with_sizes("nomic_bert", R"("rotary_emb_scale_base": 512)")) ==
        "\"rotary_emb_scale_base\": 512 is not supported\n"
        "  where: /rotary_emb_scale_base\n"
        "  help:  the model would be computed as with null");
  CHECK(refusal_of(with_sizes("mpt", R"("attn_config": {"alibi": false})")) ==
        "\"alibi\": false is not supported\n"
        "  where: /alibi\n"
        "  help:  the model would be computed as with true");
  CHECK(refusal_of(with_sizes("mpt", R"("norm_type": "rmsnorm")")) ==
        "\"norm_type\": \"rmsnorm\" is not supported\n"
        "  where: /norm_type\n"
        "  help:  the model would be computed as with \"low_precision_layernorm\"");
  CHECK(refusal_of(with_sizes("mpt", R"("logit_scale": "inv_sqrt_d_model")"))
            .starts_with("\"logit_scale\": \"inv_sqrt_d_model\" is not supported"));
  CHECK(refusal_of(with_sizes("apertus", R"("hidden_act": "silu")"))
            .starts_with("\"hidden_act\": \"silu\" is not supported"));
  CHECK(refusal_of(with_sizes("hunyuan_v1_dense", R"("use_cla": true)"))
            .starts_with("\"use_cla\": true is not supported"));
  CHECK(refusal_of(with_sizes("phimoe", R"("num_experts_per_tok": 3)"))
            .starts_with("\"num_experts_per_tok\": 3 is not supported"));
  CHECK_NOTHROW(architecture_of(with_sizes(
      "mpt", R"("norm_type": "layernorm", "logit_scale": null, "attn_config": {"qk_ln": false})")));
}

TEST_CASE("sizes that cannot be computed are refused before any weight is read") {
  CHECK(refusal_of(R"({"model_type": "codegen", "n_embd": 32, "n_head": 2, "n_layer": 1,
                       "rotary_dim": 4})") ==
        "2 heads cannot be stored in four parts of as many\n"
        "  where: /n_head\n"
        "  help:  the number of heads must be a multiple of 4");
  CHECK(refusal_of(with_sizes("llama", R"("rope_theta": 1, "rope_scaling":
                   {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 8})")) ==
        "YaRN has no meaning where all columns turn alike\n"
        "  where: /rope_theta\n"
        "  help:  give a \"rope_theta\" of more than 1");
  CHECK(refusal_of(with_sizes("llama", R"("rope_scaling": {"rope_type": "yarn", "factor": 2,
                   "original_max_position_embeddings": 8, "beta_fast": "32"})")) ==
        "expected a number, found a string\n"
        "  where: /rope_scaling/beta_fast\n"
        "  help:  this is not a configuration as the libraries write it");
}

TEST_CASE("errors of rotary positions name the object that the configuration has") {
  const auto refused = [](const std::string& more) {
    return refusal_of(with_sizes("gemma3_text", R"("head_dim": 8, )" + more));
  };
  CHECK(refused(R"("rope_parameters": {"rope_theta": "x"})") ==
        "expected a number, found a string\n"
        "  where: /rope_parameters/rope_theta\n"
        "  help:  this is not a configuration as the libraries write it");
  CHECK(refused(R"("rope_parameters": {"rope_theta": -1})") ==
        "\"rope_theta\" is -1, which is not a positive number\n"
        "  where: /rope_parameters/rope_theta\n"
        "  help:  the states would not be numbers: use the configuration as published");
  CHECK(refused(R"("rope_parameters": {"factor": 8})") ==
        "the scaling of positions has no type\n"
        "  where: /rope_parameters\n"
        "  help:  the configuration is not complete");
  CHECK(refused(R"("rope_parameters": {"rope_type": "spiral"})") ==
        "the scaling of positions \"spiral\" is not known\n"
        "  where: /rope_parameters/rope_type\n"
        "  help:  known: default, linear, dynamic, llama3, yarn, longrope");
  const auto of_windows = [&](const std::string& parameters) {
    return refused(R"("rope_parameters": {"full_attention": {"rope_type": "default"},
                                          "sliding_attention": )" +
                   parameters + "}");
  };
  CHECK(of_windows("[]") ==
        "expected an object, found an array\n"
        "  where: /rope_parameters/sliding_attention\n"
        "  help:  this is not a configuration as the libraries write it");
  CHECK(of_windows(R"({"rope_type": "linear"})") ==
        "the scaling of positions has no number \"factor\"\n"
        "  where: /rope_parameters/sliding_attention\n"
        "  help:  the configuration is not complete");
  CHECK(of_windows(R"({"rope_type": "linear", "factor": 0})") ==
        "\"factor\" is 0, which is not a positive number\n"
        "  where: /rope_parameters/sliding_attention/factor\n"
        "  help:  the states would not be numbers: use the configuration as published");
  CHECK(of_windows(R"({"rope_type": true})") ==
        "expected the name of a type, found true\n"
        "  where: /rope_parameters/sliding_attention/rope_type\n"
        "  help:  this is not a configuration as the libraries write it");
  CHECK(of_windows(R"({"rope_type": "longrope", "short_factor": [1]})") ==
        "\"original_max_position_embeddings\" is 0, which is not a positive number\n"
        "  where: /original_max_position_embeddings\n"
        "  help:  the states would not be numbers: use the configuration as published");
  CHECK(of_windows(R"({"rope_type": "longrope", "original_max_position_embeddings": 8,
                       "short_factor": [1]})") ==
        "the scaling of positions needs 4 numbers in \"short_factor\", one per pair of rotated "
        "columns\n"
        "  where: /rope_parameters/sliding_attention\n"
        "  help:  the configuration is not complete");
}

TEST_CASE("XLNet's distances are sines and cosines, seen from both sides") {
  const Architecture model = architecture_of(with_sizes("xlnet", R"("clamp_len": 3)"));
  REQUIRE(model.disentangled);
  CHECK(model.compares_types());
  CHECK(model.disentangled->clamp == 3);
  CHECK(model.score_terms == 1);
  CHECK_FALSE(model.stacks[0].causal);
  CHECK(architecture_of(with_sizes("xlnet", R"("clamp_len": -1)")).disentangled->clamp == 0);
  CHECK(refusal_of(with_sizes("xlnet", R"("attn_type": "uni")")) ==
        "\"attn_type\": \"uni\" is not supported\n"
        "  where: /attn_type\n"
        "  help:  the model would be computed as with \"bi\"");
  CHECK(refusal_of(with_sizes("xlnet", R"("bi_data": true)")) ==
        "\"bi_data\": true is not supported\n"
        "  where: /bi_data\n"
        "  help:  the model would be computed as with false");
}

TEST_CASE("text parts of models of pictures differ from the language models that they are like") {
  const auto width_of = [](const char* type) {
    return architecture_of(with_sizes(type)).stacks[0].layers[0].rotary->width;
  };
  // GLM-4 turns half of each head, GLM-4V all of it.
  REQUIRE(width_of("glm4").has_value());
  CHECK(width_of("glm4v") != width_of("glm4"));
  CHECK(width_of("glm4v_text") == width_of("glm4v"));
  const auto shares_of = [](const char* type) {
    return architecture_of(with_sizes(type)).experts->shares;
  };
  CHECK(shares_of("qwen3_moe") == ShareRule::of_all);
  CHECK(shares_of("qwen3_vl_moe") == ShareRule::of_chosen);
  CHECK(shares_of("qwen3_vl_moe_text") == ShareRule::of_chosen);
}

TEST_CASE("a single pair of columns turns by one radian whatever alpha a scaling has") {
  const Architecture model =
      architecture_of(with_sizes("hunyuan_v1_dense", R"("head_dim": 2, "rope_theta": 50,
                 "rope_scaling": {"type": "dynamic", "alpha": 3, "factor": 1})"));
  CHECK(model.stacks[0].layers[0].rotary->theta == 50);
}

TEST_CASE("terms between contents and positions are those that the configuration names") {
  const auto with = [](const std::string& more) {
    return with_sizes("deberta-v2",
                      R"("max_position_embeddings": 24, "relative_attention": true, )" + more);
  };
  const Architecture model = architecture_of(
      with(R"("pos_att_type": ["p2c", "c2p"], "position_buckets": 8, "share_att_key": true,
              "max_relative_positions": -1, "norm_rel_ebd": "layer_norm", "position_biased_input": false)"));
  REQUIRE(model.disentangled);
  CHECK(model.disentangled->content_to_position);
  CHECK(model.disentangled->position_to_content);
  CHECK(model.disentangled->shared);
  CHECK(model.disentangled->normed);
  CHECK(model.disentangled->distances.span == 8);
  CHECK(model.disentangled->distances.max_distance == 24);
  CHECK(model.positions == ModelPositions::none);
  CHECK(model.stacks[0].layers[0].scale == 1 / std::sqrt(24.0));

  const Architecture one =
      architecture_of(with(R"("pos_att_type": "c2p", "max_relative_positions": 6)"));
  CHECK_FALSE(one.disentangled->position_to_content);
  CHECK_FALSE(one.disentangled->shared);
  CHECK(one.disentangled->distances.span == 6);
  CHECK(one.positions == ModelPositions::learned);
  CHECK(one.stacks[0].layers[0].scale == 0.25);
  CHECK_FALSE(architecture_of(with_sizes("deberta", R"("pos_att_type": "c2p|p2c")")).disentangled);

  CHECK(refusal_of(with(R"("pos_att_type": ["p2p"])")) ==
        "terms of scores of the type \"p2p\" are not computed\n"
        "  where: /pos_att_type\n"
        "  help:  the maps would lack the scores of their distances");
  CHECK(refusal_of(with(R"("conv_kernel_size": 4)")) ==
        "a convolution of 4 tokens has no middle\n"
        "  where: /conv_kernel_size\n"
        "  help:  give an odd number");
  CHECK(refusal_of(with(R"("conv_kernel_size": 3, "conv_groups": 5)")) ==
        "32 numbers cannot be in 5 groups\n"
        "  where: /conv_groups\n"
        "  help:  the width of the states must be a multiple");
  CHECK(refusal_of(with(R"("norm_rel_ebd": "batch_norm")")) ==
        "\"norm_rel_ebd\": \"batch_norm\" is not supported\n"
        "  where: /norm_rel_ebd\n"
        "  help:  known: none, layer_norm");
  CHECK(refusal_of(with(R"("pos_att_type": ["c2p"], "position_buckets": 1)")) ==
        "distances up to 24 cannot be put into 1 buckets\n"
        "  where: /position_buckets\n"
        "  help:  give at least 2");
  CHECK(refusal_of(with(R"("pos_att_type": 3)")) ==
        "expected a list of names, found a number\n"
        "  where: /pos_att_type\n"
        "  help:  this is not a configuration as the libraries write it");
}

TEST_CASE("an encoder and a decoder that are described apart have sizes and rules of their own") {
  const std::string parts =
      R"("encoder": {"hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 2,
                     "num_hidden_layers": 3, "sliding_window": 5, "vocab_size": 7},
         "decoder": {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
                     "sliding_window": 5, "final_logit_softcapping": null, "bos_token_id": 3})";
  const Architecture model =
      architecture_of(R"({"model_type": "t5gemma", "vocab_size": 9, )" + parts + "}");
  REQUIRE(model.stacks.size() == 2);
  REQUIRE(model.encoder);
  const Architecture& encoder = model.of(model.stacks[0]);
  CHECK(encoder.width == 48);
  CHECK(encoder.heads == 6);
  CHECK(encoder.kv_heads == 2);
  CHECK(encoder.vocabulary == 9);
  CHECK(&model.of(model.stacks[1]) == &model);
  CHECK(model.heads == 4);
  CHECK(model.kv_heads == 4);
  CHECK(model.head_width == 256);
  CHECK(model.softcap == 50);
  CHECK_FALSE(model.logit_softcap);
  CHECK(model.tied);
  CHECK(model.decoder_start_id == 3);
  // Both sides of an encoder's window count the query's own key, which windows on both sides do
  // not.
  CHECK_FALSE(model.stacks[0].causal);
  CHECK(model.stacks[0].layers[0].window == 4);
  CHECK_FALSE(model.stacks[0].layers[1].window);
  CHECK(model.stacks[1].causal);
  CHECK(model.stacks[1].crosses);
  CHECK(model.stacks[1].layers[0].window == 5);

  const Architecture alone = architecture_of(
      R"({"model_type": "t5gemma", "architectures": ["T5GemmaEncoderModel"], )" + parts + "}");
  CHECK(alone.stacks.size() == 1);
  CHECK(alone.width == 48);
  CHECK(alone.head.weight.empty());

  CHECK(refusal_of(R"({"model_type": "t5gemma", "vocab_size": 9})") ==
        "the configuration does not describe the encoder\n"
        "  where: /encoder\n"
        "  help:  use the configuration as published");
}

TEST_CASE("an encoder that is saved alone has no head, though its tokens were tied to one") {
  const std::string whole = with_sizes("t5");
  CHECK_FALSE(architecture_of(whole).head.weight.empty());
  const Architecture alone =
      architecture_of(with_sizes("t5", R"("architectures": ["T5EncoderModel"])"));
  CHECK(alone.stacks.size() == 1);
  CHECK(alone.head.weight.empty());
}

TEST_CASE(
    "layers of Cohere 2 without a window are not rotated, those of EXAONE 4 beside windows alone") {
  const auto turned = [](const std::string& config) {
    std::string shown;
    const Architecture model = architecture_of(config);
    for (const ModelLayer& layer : model.stacks[0].layers) shown += layer.rotary ? 'r' : '.';
    return shown;
  };
  CHECK(turned(with_sizes("cohere2")) == "rrr.rr");
  CHECK(turned(with_sizes("cohere2", R"("sliding_window": null)")) == "......");
  CHECK(turned(with_sizes("exaone4")) == "rrr.rr");
  CHECK(turned(with_sizes("exaone4", R"("sliding_window": null)")) == "rrrrrr");
}

TEST_CASE("layers with experts are between a first and a last one, or listed by their types") {
  const auto shown = [](const std::string& config) {
    std::string all;
    for (const ModelLayer& layer : architecture_of(config).stacks[0].layers) {
      all += layer.experts ? 'e' : '.';
    }
    return all;
  };
  CHECK(shown(with_sizes("deepseek_v3")) == "...eee");
  CHECK(shown(with_sizes("dots1", R"("n_routed_experts": 4, "num_experts_per_tok": 2)")) ==
        "eeeeee");
  CHECK(shown(with_sizes("ernie4_5_moe", R"("moe_layer_end_index": 3, "moe_layer_interval": 2)")) ==
        ".e.e..");
  CHECK(shown(with_sizes("ernie4_5_moe", R"("moe_layer_end_index": -1)")) == ".eeeee");
  CHECK(shown(with_sizes("glm4_moe_lite", R"("mlp_layer_types": ["sparse", "dense", "sparse",
      "sparse", "dense", "sparse"])")) == "e.ee.e");
  CHECK(refusal_of(with_sizes("glm4_moe_lite", R"("mlp_layer_types": ["sparse", "thin"])")) ==
        "expected \"dense\" or \"sparse\", found a string\n"
        "  where: /mlp_layer_types/1\n"
        "  help:  this is not a configuration as the libraries write it");
  CHECK(refusal_of(with_sizes("deepseek_v3", R"("n_group": 3)")) ==
        "8 experts cannot be chosen from 4 of 3 groups of 256 experts\n"
        "  where: /n_group\n"
        "  help:  groups are of one size, and the best hold as many as a token takes");
  CHECK(refusal_of(with_sizes("hunyuan_v1_moe", R"("num_experts": 4, "moe_topk": [1, 2])")) ==
        "expected the number of the layers before, found a number\n"
        "  where: /moe_topk/1\n"
        "  help:  this is not a configuration as the libraries write it");
}

TEST_CASE("latent attention has keys of two parts, values of another width, and YaRN's scale") {
  const Architecture plain = architecture_of(with_sizes("deepseek_v3", R"("q_lora_rank": null)"));
  CHECK(plain.head_width == 192);
  CHECK(plain.value_width() == 128);
  CHECK(plain.kv_heads == plain.heads);
  CHECK(plain.latent->query_rank == 0);
  CHECK(architecture_of(with_sizes("deepseek_v3")).latent->query_rank == 1536);
  const double usual = plain.stacks[0].layers[0].scale;
  CHECK(usual == doctest::Approx(1 / std::sqrt(192.0)));
  const Architecture longer = architecture_of(with_sizes(
      "deepseek_v3",
      R"("rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096, "mscale": 1, "mscale_all_dim": 1})"));
  const double factor = 0.1 * std::log(40.0) + 1;
  CHECK(longer.stacks[0].layers[0].scale == doctest::Approx(usual * factor * factor));
}

TEST_CASE("what is not known or not computed is refused by its key") {
  CHECK(
      refusal_of(with_sizes("lama")) ==
      "models of the type \"lama\" are not known\n"
      "  where: /model_type\n"
      "  help:  did you mean \"llama\"?; a model that computes what another one does is read by a "
      "row such as {\"like\": \"llama\"}, given as DocumentOptions::architecture");
  CHECK(refusal_of(with_sizes("qwen2_audio_of_mine")).find("{\"like\": \"qwen2\"}") !=
        std::string::npos);
  CHECK(refusal_of(with_sizes("wholly_new")).find("{\"like\": \"llama\"}") != std::string::npos);
  CHECK(refusal_of(with_sizes("mamba")) ==
        "models of the type \"mamba\" are not computed: their layers have no attention\n"
        "  where: /model_type\n"
        "  help:  choose another model");
  CHECK(refusal_of(with_sizes("bert", R"("position_embedding_type": "relative_key")")) ==
        "positions of the type \"relative_key\" are not computed\n"
        "  where: /position_embedding_type\n"
        "  help:  the maps would lack the scores of their distances");
  CHECK(refusal_of(with_sizes("llama", R"("quantization_config": {"bits": 4})")) ==
        "the weights are quantized, and their meaning is not known\n"
        "  where: /quantization_config\n"
        "  help:  use the model's unquantized folder");
  CHECK(refusal_of(with_sizes("llama", R"("hidden_act": "gleu")")) ==
        "the activation \"gleu\" is not known\n"
        "  where: /hidden_act\n"
        "  help:  did you mean \"gelu\"?");
  CHECK(refusal_of(with_sizes("llama", R"("num_key_value_heads": 3)")) ==
        "4 query heads cannot share 3 key heads\n"
        "  where: /num_key_value_heads\n"
        "  help:  the number of query heads must be a multiple");
  CHECK(refusal_of(with_sizes("llama", R"("rope_scaling": {"rope_type": "spiral"})")) ==
        "the scaling of positions \"spiral\" is not known\n"
        "  where: /rope_scaling/rope_type\n"
        "  help:  known: default, linear, dynamic, llama3, yarn, longrope");
  CHECK(refusal_of(with_sizes(
            "phi3",
            R"("rope_scaling": {"type": "spiral", "short_factor": [1], "long_factor": [1]})")) ==
        "the scaling of positions \"spiral\" is not known\n"
        "  where: /rope_scaling/type\n"
        "  help:  known: default, linear, dynamic, llama3, yarn, longrope");
  CHECK(refusal_of(with_sizes("llama", R"("rope_scaling": {"factor": 4})")) ==
        "the scaling of positions has no type\n"
        "  where: /rope_scaling\n"
        "  help:  the configuration is not complete");
  CHECK(refusal_of(R"({"model_type": "llama", "hidden_size": 8})") ==
        "the configuration does not give the number of heads\n"
        "  help:  it is looked for under num_attention_heads, n_head, num_heads, n_heads, "
        "encoder_attention_heads, attention_heads");
  CHECK(refusal_of(with_sizes("llama", R"("rms_norm_eps": "small")")) ==
        "expected a number, found a string\n"
        "  where: /rms_norm_eps\n"
        "  help:  this is not a configuration as the libraries write it");
}

TEST_CASE("every row of the table is one that users may write") {
  for (const std::string_view text : builtin_rows()) {
    const JsonValue rows = parse_json(text);
    CHECK(rows.members().size() > 10);
    for (const JsonMember& row : rows.members()) {
      CAPTURE(row.key);
      CHECK_NOTHROW(read_row(row.value));
    }
  }
}

TEST_CASE("what another row says may be taken away everywhere") {
  CHECK_NOTHROW(read_row(parse_json(
      R"({"like": "llama", "names": {"gate": null}, "window": null, "rotary": {"theta": null}})")));
}

TEST_CASE("values of a row that have another type than they must are refused where they stand") {
  struct Wrong {
    std::string row, expected, where;
  };
  const std::string count = "expected a whole number of at least 0, found ";
  const std::string names = "expected a name or a list of names, found ";
  for (const Wrong& wrong : std::vector<Wrong>{
           {R"({"norm": 5})", "expected a string, found a number", "/norm"},
           {R"({"causal": 1})", "expected true or false, found a number", "/causal"},
           {R"({"eps": "1e-5"})", "expected a number, found a string", "/eps"},
           {R"({"kv_heads": -1})", count + "a number", "/kv_heads"},
           {R"({"kv_heads": 1.5})", count + "a number", "/kv_heads"},
           {R"({"window": {"size": true}})", count + "true", "/window/size"},
           {R"({"position_offset": [2]})",
            "expected a whole number of at least 0 or a rule, found an array", "/position_offset"},
           {R"({"eps_keys": 7})", names + "a number", "/eps_keys"},
           {R"({"prefixes": ["model.", 3]})", "expected a name, found a number", "/prefixes/1"},
           {R"({"rotary": []})", "expected an object, found an array", "/rotary"},
           {R"({"defaults": 1})", "expected an object, found a number", "/defaults"},
           {R"({"names": ["wte"]})", "expected an object, found an array", "/names"},
           {R"({"names": {"query": {}}})", names + "an object", "/names/query"},
           {R"({"names": {"layer": []}})", "there is no name", "/names/layer"},
           {R"({"logit_divisor": 0})", "\"logit_divisor\" is 0, which is not a positive number",
            "/logit_divisor"},
           {R"({"rotary": {"theta": -2}})", "\"theta\" is -2, which is not a positive number",
            "/rotary/theta"},
           {R"({"encoder": {"names": {"up": 1}}})", names + "a number", "/encoder/names/up"},
           {R"({"cases": {}})", "expected a list of cases, found an object", "/cases"},
           {R"({"cases": [5]})", "expected an object, found a number", "/cases/0"},
           {R"({"cases": [{"key": "alibi", "is": true}]})", "the case has no \"row\"", "/cases/0"},
           {R"({"cases": [{"key": null, "is": true, "row": {}}]})", "the case has no \"key\"",
            "/cases/0"},
           {R"({"cases": [{"key": "alibi", "is": ["yes"], "row": {}}]})",
            "expected true, false, a number or a string, found an array", "/cases/0/is"},
           {R"({"cases": [{"key": "alibi", "is": 1, "row": {"tied": 2}}]})",
            "expected true or false, found a number", "/cases/0/row/tied"}}) {
    CAPTURE(wrong.row);
    CHECK(error_from([&] { read_row(parse_json(wrong.row)); }) ==
          wrong.expected + "\n  where: " + wrong.where +
              "\n  help:  model_row() gives a row as it should be");
  }
  CHECK(error_from([] { read_row(parse_json("[]")); }) ==
        "the row is an array, not an object\n  help:  model_row() gives one");
}

TEST_CASE("a member that no row has is refused with the nearest that there is") {
  struct Unknown {
    std::string row, where, nearest;
  };
  for (const Unknown& unknown :
       std::vector<Unknown>{{R"({"noorm": "rms"})", "/noorm", "norm"},
                            {R"({"rotary": {"thetta": 3}})", "/rotary/thetta", "theta"},
                            {R"({"names": {"qurey": "q_proj"}})", "/names/qurey", "query"},
                            {R"({"cases": [{"key": "a", "is": 1, "row": {"scal": 2}}]})",
                             "/cases/0/row/scal", "scale"}}) {
    CAPTURE(unknown.row);
    const std::string member = unknown.where.substr(unknown.where.rfind('/') + 1);
    CHECK(error_from([&] { read_row(parse_json(unknown.row)); }) ==
          "unknown key \"" + member + "\"\n  where: " + unknown.where +
              "\n  help:  did you mean \"" + unknown.nearest + "\"?");
  }
}

}  // namespace
}  // namespace attn
