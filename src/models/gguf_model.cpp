#include "models/gguf_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_writer.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Names of tensors as llama.cpp's converter gives them (gguf-py/gguf/constants.py), by
// architecture, over the row of the family that the architecture comes from. "like" takes over
// another architecture of this table first; what is null is taken away.
constexpr std::string_view architectures = R"json({
"llama": {"family": "llama", "row": {"prefixes": [""], "rows_in_pairs": true,
  "rotary": {"width_keys": ["rope_dimension_count"]},
  "names": {"tokens": "token_embd", "layer": "blk.{n}.", "query": "attn_q", "key": "attn_k", "value": "attn_v",
    "output": "attn_output", "before_attention": "attn_norm", "before_feed_forward": "ffn_norm",
    "final_norm": "output_norm", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down"},
  "head": {"weight": "output"}}},
"qwen2": {"like": "llama", "family": "qwen2", "row": {"rows_in_pairs": null}},
"qwen3": {"like": "qwen2", "family": "qwen3", "row": {"names": {"query_norm": "attn_q_norm", "key_norm": "attn_k_norm"}}},
"olmo2": {"like": "qwen2", "family": "olmo2", "row": {"names": {"query_norm": "attn_q_norm", "key_norm": "attn_k_norm",
  "before_attention": null, "before_feed_forward": null, "after_attention": "post_attention_norm",
  "after_feed_forward": "post_ffw_norm"}}},
"smollm3": {"like": "llama", "family": "smollm3", "row": {}},
"gemma": {"like": "qwen2", "family": "gemma", "row": {"norm": "rms"}},
"gemma2": {"like": "gemma", "family": "gemma2", "row": {"names": {"after_attention": "post_attention_norm",
  "after_feed_forward": "post_ffw_norm"}}},
"gemma3": {"like": "gemma2", "family": "gemma3_text", "row": {"names": {"query_norm": "attn_q_norm", "key_norm": "attn_k_norm"}}},
"phi2": {"like": "qwen2", "family": "phi", "row": {"names": {
  "query_norm": null, "key_norm": null, "before_feed_forward": "attn_norm", "gate": null},
  "head": {"bias": ["output.bias"]}}},
"phi3": {"like": "qwen2", "family": "phi3", "row": {"names": {"query": null, "key": null, "value": null,
  "query_key_value": "attn_qkv", "gate": null, "up": null, "gate_up": "ffn_up"}}},
"gpt2": {"like": "qwen2", "family": "gpt2", "row": {"stored": null, "rotary": null, "names": {"positions": "position_embd",
  "query": null, "key": null, "value": null, "query_key_value": "attn_qkv", "gate": null}}},
"gptneox": {"like": "qwen2", "family": "gpt_neox", "row": {"fused": "side_by_side", "names": {"query": null, "key": null,
  "value": null, "query_key_value": "attn_qkv", "gate": null}}},
"bloom": {"like": "gptneox", "family": "bloom", "row": {"rotary": null, "names": {"embedding_norm": "token_embd_norm"}}},
"falcon": {"like": "gptneox", "family": "falcon", "row": {"parallel": true, "names": {"before_attention": ["attn_norm_2", "attn_norm"],
  "before_feed_forward": "attn_norm"}}},
"bert": {"family": "bert", "row": {"prefixes": [""], "names": {"tokens": "token_embd", "positions": "position_embd",
  "types": "token_types", "embedding_norm": "token_embd_norm", "layer": "blk.{n}.", "query": "attn_q", "key": "attn_k",
  "value": "attn_v", "output": "attn_output", "after_attention_sum": "attn_output_norm", "up": "ffn_up",
  "down": "ffn_down", "after_feed_forward_sum": "layer_output_norm"}, "head": null}},
"gpt-oss": {"like": "qwen2", "family": "gpt_oss", "row": {"names": {"sinks": "attn_sinks",
  "before_feed_forward": "post_attention_norm", "gate": null, "up": null, "down": null, "router": "ffn_gate_inp",
  "experts": null, "expert_gate": "ffn_gate_exps", "expert_up": "ffn_up_exps", "expert_down": "ffn_down_exps"}}},
"t5": {"family": "t5", "row": {"prefixes": [""],
  "encoder": {"prefix": "", "names": {"tokens": "token_embd", "layer": "enc.blk.{n}.", "query": "attn_q", "key": "attn_k",
    "value": "attn_v", "output": "attn_o", "buckets": "enc.blk.0.attn_rel_b", "before_attention": "attn_norm",
    "before_feed_forward": "ffn_norm", "final_norm": "enc.output_norm", "up": "ffn_up", "gated_up": "ffn_up",
    "gate": "ffn_gate", "down": "ffn_down"}},
  "decoder": {"prefix": "", "names": {"tokens": "token_embd", "layer": "dec.blk.{n}.", "query": "attn_q", "key": "attn_k",
    "value": "attn_v", "output": "attn_o", "buckets": "dec.blk.0.attn_rel_b", "before_attention": "attn_norm",
    "cross_query": "cross_attn_q", "cross_key": "cross_attn_k", "cross_value": "cross_attn_v", "cross_output": "cross_attn_o",
    "before_cross": "cross_attn_norm", "before_feed_forward": "ffn_norm", "final_norm": "dec.output_norm",
    "up": "ffn_up", "gated_up": "ffn_up", "gate": "ffn_gate", "down": "ffn_down"}},
  "head": {"weight": "output"}}},
"t5encoder": {"like": "t5", "family": "t5", "row": {}},
"internlm2": {"like": "llama", "family": "llama", "row": {}},
"llama-embed": {"like": "llama", "family": "llama", "row": {"causal": false, "head": null}},
"mixtral": {"like": "llama", "family": "mixtral", "row": {"names": {"gate": null, "up": null, "down": null, "router": "ffn_gate_inp",
  "expert_gate": "ffn_gate_exps", "expert_up": "ffn_up_exps", "expert_down": "ffn_down_exps", "expert_gate_up": null}}},
"granite": {"like": "llama", "family": "granite", "row": {}},
"granitemoe": {"like": "mixtral", "family": "granitemoe", "row": {}},
"arcee": {"like": "llama", "family": "arcee", "row": {"names": {"gate": null}}},
"olmo": {"like": "llama", "family": "olmo", "row": {}},
"qwen2vl": {"like": "qwen2", "family": "qwen2", "row": {}},
"qwen3vl": {"like": "qwen3", "family": "qwen3", "row": {}},
"qwen3moe": {"like": "mixtral", "family": "qwen3_moe", "row": {"rows_in_pairs": null,
  "experts": {"normalised": true, "normalised_keys": null},
  "names": {"query_norm": "attn_q_norm", "key_norm": "attn_k_norm"}}},
"qwen3vlmoe": {"like": "qwen3moe", "family": "qwen3_moe", "row": {}},
"olmoe": {"like": "qwen3moe", "family": "olmoe", "row": {"experts": {"normalised": false, "count_keys": ["num_local_experts"]}}},
"exaone": {"like": "qwen2", "family": "exaone", "row": {}},
"exaone4": {"like": "olmo2", "family": "exaone4", "row": {}},
"seed_oss": {"like": "qwen2", "family": "seed_oss", "row": {"names": {"before_feed_forward": "post_attention_norm"}}},
"ernie4_5": {"like": "qwen2", "family": "ernie4_5", "row": {}},
"nemotron": {"like": "qwen2", "family": "nemotron", "row": {"norm": "layer", "names": {"gate": null}}},
"hunyuan-dense": {"like": "qwen3", "family": "hunyuan_v1_dense", "row": {}},
"hunyuan-moe": {"like": "qwen3moe", "family": "hunyuan_v1_moe", "row": {"experts": {"normalised": null, "chosen_keys": ["num_experts_per_tok"]},
  "names": {"shared_gate": "ffn_gate_shexp", "shared_up": "ffn_up_shexp", "shared_down": "ffn_down_shexp"}}},
"glm4": {"like": "phi3", "family": "glm4", "row": {"names": {"query": "attn_q", "key": "attn_k", "value": "attn_v", "query_key_value": null,
  "after_attention": "post_attention_norm", "after_feed_forward": "post_ffw_norm"}}},
"starcoder2": {"like": "qwen2", "family": "starcoder2", "row": {"names": {"gate": null}}},
"starcoder": {"like": "gpt2", "family": "gpt_bigcode", "row": {}},
"stablelm": {"like": "qwen2", "family": "stablelm", "row": {"cases": [
  {"key": "use_parallel_residual", "is": true, "row": {"names": {"before_feed_forward": "attn_norm"}}},
  {"key": "qk_layernorm", "is": true, "row": {"norms_by_head": true,
    "names": {"query_norm": "attn_q_norm", "key_norm": "attn_k_norm"}}}]}},
"command-r": {"like": "qwen2", "family": "cohere", "row": {"names": {"before_feed_forward": "attn_norm"},
  "cases": [{"key": "use_qk_norm", "is": true, "row": {"norms_by_head": true,
    "names": {"query_norm": "attn_q_norm", "key_norm": "attn_k_norm"}}}]}},
"cohere2": {"like": "command-r", "family": "cohere2", "row": {"cases": null}},
"gemma-embedding": {"like": "gemma3", "family": "gemma3_text", "row": {"head": null}},
"eurobert": {"like": "qwen2", "family": "eurobert", "row": {"head": null}},
"nomic-bert": {"like": "bert", "family": "nomic_bert", "row": {"names": {"positions": null, "query": null, "key": null, "value": null,
  "query_key_value": "attn_qkv", "gate": "ffn_gate", "gated_up": "ffn_up"}}},
"modern-bert": {"like": "bert", "family": "modernbert", "row": {"names": {"positions": null, "types": null, "query": null, "key": null,
  "value": null, "query_key_value": "attn_qkv", "before_attention": "attn_norm", "after_attention_sum": null,
  "before_feed_forward": "ffn_norm", "after_feed_forward_sum": null, "up": null, "gate_up": "ffn_up", "final_norm": "output_norm"}}},
"minimax-m2": {"like": "qwen3moe", "family": "minimax_m2", "row": {"experts": {"normalised": null},
  "names": {"router_correction": "exp_probs_b.bias"}}},
"glm4moe": {"like": "qwen3moe", "family": "glm4_moe", "row": {"rotary": {"width_keys": ["rope_dimension_count"]},
  "cases": [{"key": "use_qk_norm", "is": true, "row": {"names": {"query_norm": "attn_q_norm", "key_norm": "attn_k_norm"}}}],
  "experts": {"normalised": null, "normalised_keys": ["norm_topk_prob"]},
  "names": {"query_norm": null, "key_norm": null, "before_feed_forward": "post_attention_norm", "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down",
    "router_correction": "exp_probs_b.bias",
    "shared_gate": "ffn_gate_shexp", "shared_up": "ffn_up_shexp", "shared_down": "ffn_down_shexp"}}},
"dots1": {"like": "glm4moe", "family": "dots1", "row": {"names": {"before_feed_forward": "ffn_norm"}}},
"lfm2": {"like": "qwen3", "family": "lfm2", "row": {"names": {"final_norm": "token_embd_norm", "mixer_in": "shortconv.in_proj",
  "mixer_convolution": "shortconv.conv", "mixer_output": "shortconv.out_proj"}}},
"lfm2moe": {"like": "lfm2", "family": "lfm2_moe", "row": {"cases": null, "experts": {"first_keys": ["first_k_dense_replace"]},
  "names": {"router": "ffn_gate_inp", "router_correction": "exp_probs_b.bias", "expert_gate": "ffn_gate_exps", "expert_up": "ffn_up_exps",
    "expert_down": "ffn_down_exps", "expert_gate_up": null}}}
})json";

const JsonValue& gguf_table() {
  static const JsonValue parsed = parse_json(architectures);
  return parsed;
}

constexpr std::string_view architecture_key = "general.architecture";

// `base` with the members of `change` over its own. A null stays: it takes away what the row of
// the family has.
JsonValue over(const JsonValue& base, const JsonValue& change) {
  if (!base.is(JsonValue::Type::object) || !change.is(JsonValue::Type::object)) return change;
  JsonValue::Object members;
  for (const JsonMember& own : base.members()) {
    const JsonValue* other = change.find(own.key);
    members->push_back(other == nullptr ? own : JsonMember{own.key, over(own.value, *other)});
  }
  for (const JsonMember& own : change.members()) {
    if (base.find(own.key) == nullptr) members->push_back(own);
  }
  return JsonValue{std::move(members)};
}

JsonValue names_of(const JsonValue& entry) {
  const JsonValue* like = entry.find("like");
  const JsonValue& own = *entry.find("row");
  return like == nullptr ? own : over(names_of(*gguf_table().find(like->string())), own);
}

const JsonValue& known_architecture(const std::string& name) {
  if (const JsonValue* entry = gguf_table().find(name)) return *entry;
  std::vector<std::string_view> known;
  for (const JsonMember& entry : gguf_table().members()) known.push_back(entry.key);
  throw input_error(translated("models of the architecture {1} are not computed", in_quotes(name)),
                    std::string(architecture_key), suggestion(name, known));
}

/// Writes a configuration from the keys of a file. Defaults are llama.cpp's, where it has one.
class ConfigurationWriter {
 public:
  ConfigurationWriter(const Gguf& file, const std::string& name, std::string family)
      : file_(file), name_(name), keys_(file, name), family_(std::move(family)) {}

  GgufModel model() {
    GgufModel own;
    own.config = parse_json(json_text([&](JsonWriter& json) {
      json.begin_object();
      json.member("model_type", std::string_view(family_));
      if (name_ == "t5encoder") {
        json.member("architectures", std::vector<std::string>{"T5EncoderModel"});
      }
      sizes(json);
      rules(json);
      windows(json);
      rotation(json);
      json.end_object();
    }));
    own.tensors = std::move(tensors_);
    const std::vector<std::string> unread = keys_.check_unread();
    if (unread.empty()) return own;
    std::string names;
    for (const std::string& key : unread)
      names += (names.empty() ? "" : name_separator()) + in_quotes(key);
    own.warnings.push_back(
        translated("keys of the file are not known and change nothing: {1}", names));
    return own;
  }

 private:
  std::optional<std::size_t> find(std::string_view name) const {
    const auto found = std::ranges::find(file_.names(), name);
    if (found == file_.names().end()) return std::nullopt;
    return static_cast<std::size_t>(found - file_.names().begin());
  }

  void sizes(JsonWriter& json) {
    width_ = keys_.needed("embedding_length");
    heads_ = keys_.same_number("attention.head_count").value_or(0);
    if (heads_ < 1) keys_.needed("attention.head_count");
    head_width_ = keys_.number("attention.key_length").value_or(std::floor(width_ / heads_));
    if (const auto values = keys_.number("attention.value_length");
        values && *values != head_width_) {
      throw input_error(translated("this value is not supported: {1}", number_text(*values)),
                        keys_.key("attention.value_length"),
                        translated("values as wide as keys are computed"));
    }
    layers_ = keys_.needed("block_count");
    integer(json, "hidden_size", width_);
    integer(json, "num_attention_heads", heads_);
    key_heads(json);
    integer(json, "head_dim", head_width_);
    integer(json, "num_hidden_layers", layers_);
    if (const auto decoder = keys_.number("decoder_block_count")) {
      integer(json, "num_decoder_layers", *decoder);
    }
    if (const auto tokens = find("token_embd.weight")) {
      const Shape& shape = file_.shape(*tokens);
      if (!shape.empty()) json.member("vocab_size", shape.front());
    }
    longest_ = keys_.number("context_length");
    if (longest_) integer(json, "max_position_embeddings", *longest_);
    json.member("tie_word_embeddings", !find("output.weight").has_value());
  }

  // Layers without key heads have a convolution in place of an attention.
  void key_heads(JsonWriter& json) {
    if (!family_.starts_with("lfm2")) {
      integer(json, "num_key_value_heads",
              keys_.same_number("attention.head_count_kv").value_or(heads_));
      return;
    }
    const std::vector<double> all = keys_.numbers("attention.head_count_kv");
    const double most = all.empty() ? heads_ : *std::ranges::max_element(all);
    integer(json, "num_key_value_heads", most);
    integer(json, "conv_L_cache", keys_.needed("shortconv.l_cache"));
    if (all.size() < 2) return;
    json.array("layer_types", all,
               [&](double heads) { json.value(heads > 0 ? "full_attention" : "conv"); });
  }

  void rules(JsonWriter& json) {
    auto eps = keys_.number("attention.layer_norm_rms_epsilon");
    if (!eps) eps = keys_.number("attention.layer_norm_epsilon");
    for (const char* name :
         {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps"}) {
      if (eps) json.member(name, *eps);
    }
    const auto causal = keys_.boolean("attention.causal");
    // EmbeddingGemma's windows are those of a causal model, on both sides.
    if (causal && name_ != "t5encoder" && name_ != "gemma-embedding") {
      json.member("is_causal", *causal);
      if (family_ == "bert") json.member("is_decoder", *causal);
    }
    if (family_ == "gpt_neox") {
      if (const auto parallel = keys_.boolean("use_parallel_residual")) {
        json.member("use_parallel_residual", *parallel);
      }
    }
    if (family_.starts_with("gemma")) {
      for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"}) {
        if (const auto cap = keys_.number(name)) json.member(name, *cap);
      }
      // llama.cpp knows the models of 27 billion parameters by their layers.
      const bool largest = layers_ == (family_ == "gemma2" ? 46 : 62) && family_ != "gemma";
      json.member("query_pre_attn_scalar", largest ? width_ / heads_ : head_width_);
    }
    // Fused projections are side by side in the file, whatever they were.
    if (family_ == "falcon") json.member("multi_query", false);
    factors_of_parts(json);
    experts(json);
    // T5: without a gate relu, with one the approximated gelu of T5 1.1.
    if (family_ == "t5") {
      json.member("feed_forward_proj", find("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu");
      if (const auto start = keys_.number("decoder_start_token_id")) {
        integer(json, "decoder_start_token_id", *start);
      }
      if (const auto count = keys_.number("attention.relative_buckets_count")) {
        integer(json, "relative_attention_num_buckets", *count);
      }
    }
    if (const auto padding = file_.number("tokenizer.ggml.padding_token_id")) {
      integer(json, "pad_token_id", *padding);
    }
  }

  // What the files of some families give of their factors, and of what they have.
  void factors_of_parts(JsonWriter& json) {
    const auto number = [&](const char* key, const char* name) {
      if (const auto value = keys_.number(key)) json.member(name, *value);
    };
    if (family_.starts_with("granite")) {
      number("embedding_scale", "embedding_multiplier");
      number("residual_scale", "residual_multiplier");
      number("attention.scale", "attention_multiplier");
      number("logit_scale", "logits_scaling");
    }
    if (family_.starts_with("cohere")) {
      number("logit_scale", "logit_scale");
    }
    if (family_ == "cohere" || family_ == "glm4_moe" || family_ == "dots1") {
      json.member("use_qk_norm", find("blk.0.attn_q_norm.weight").has_value());
    }
    if (family_.starts_with("olmo")) number("attention.clamp_kqv", "clip_qkv");
    if (family_ == "stablelm") {
      json.member("use_parallel_residual", !find("blk.0.ffn_norm.weight").has_value());
      json.member("qk_layernorm", find("blk.0.attn_q_norm.weight").has_value());
    }
    if (name_ == "gemma-embedding") json.member("use_bidirectional_attention", true);
  }

  void experts(JsonWriter& json) {
    const auto count = keys_.number("expert_count");
    if (!count || *count <= 0) return;
    integer(json, "num_local_experts", *count);
    integer(json, "num_experts_per_tok", keys_.needed("expert_used_count"));
    constexpr std::array<std::string_view, 3> described{"glm4_moe", "dots1", "lfm2_moe"};
    if (std::ranges::count(described, family_) == 0) return;
    if (const auto normed = keys_.boolean("expert_weights_norm")) {
      json.member("norm_topk_prob", *normed);
    }
    if (const auto scale = keys_.number("expert_weights_scale")) {
      json.member("routed_scaling_factor", *scale);
    }
    for (const auto& [key, name] : {std::pair("leading_dense_block_count", "first_k_dense_replace"),
                                    std::pair("expert_shared_count", "n_shared_experts")}) {
      if (const auto value = keys_.number(key)) integer(json, name, *value);
    }
  }

  // Windows of the families that have some; which layers do is a pattern, or a truth for each
  // layer.
  void windows(JsonWriter& json) {
    constexpr std::array<std::string_view, 8> windowed{
        "gemma2", "gemma3_text", "phi3", "gpt_oss", "olmo3", "cohere2", "exaone4", "modernbert"};
    if (std::ranges::count(windowed, family_) == 0) return;
    const auto window = keys_.number("attention.sliding_window");
    if (window && *window > 0) {
      for (const char* name : {"sliding_window", "local_attention"}) integer(json, name, *window);
    } else if (window) {
      json.member("sliding_window", std::optional<bool>());  // 0 is none
    }
    const std::vector<double> pattern = keys_.numbers("attention.sliding_window_pattern");
    if (pattern.size() == 1) {
      for (const char* name : {"sliding_window_pattern", "global_attn_every_n_layers"}) {
        integer(json, name, pattern.front());
      }
    }
    if (pattern.size() < 2) return;
    json.array("layer_types", pattern, [&](double has_window) {
      json.value(has_window != 0 ? "sliding_attention" : "full_attention");
    });
  }

  void rotation(JsonWriter& json) {
    // Ollama's converter has names of its own for Gemma 3.
    auto base = keys_.number("rope.freq_base");
    if (!base) base = keys_.number("rope.global.freq_base");
    json.member("rope_theta", base.value_or(10000));
    if (family_ == "gemma3_text" || family_ == "modernbert") {
      auto near = keys_.number("rope.freq_base_swa");
      if (!near) near = keys_.number("rope.local.freq_base");
      for (const char* name : {"rope_local_base_freq", "local_rope_theta"}) {
        if (near) json.member(name, *near);
      }
    }
    json.member("global_rope_theta", base.value_or(10000));
    turned_ = keys_.number("rope.dimension_count").value_or(head_width_);
    integer(json, "rope_dimension_count", turned_);
    scaling(json);
  }

  // Factors that divide the frequencies, one for each pair of turned columns.
  std::optional<std::vector<double>> factors(std::string_view name) {
    const auto index = find(name);
    if (!index) return std::nullopt;
    tensors_.emplace_back(name);
    const Tensor read = file_.read(*index).converted(DType::float64);
    const std::span<const double> values = read.values<double>();
    return std::vector<double>(values.begin(), values.end());
  }

  // The type is linear where the file names none; an old key has the factor where the new one does
  // not; and the amplitude counts whatever the type is.
  void scaling(JsonWriter& json) {
    const std::string type = keys_.text("rope.scaling.type").value_or("linear");
    constexpr std::array<std::string_view, 4> types{"none", "linear", "yarn", "longrope"};
    if (std::ranges::count(types, type) == 0) {
      throw input_error(translated("the scaling of positions {1} is not known", in_quotes(type)),
                        keys_.key("rope.scaling.type"),
                        translated("known: {1}", "none, linear, yarn, longrope"));
    }
    const auto old_factor = keys_.number("rope.scale_linear"),
               new_factor = keys_.number("rope.scaling.factor");
    double factor = new_factor.value_or(old_factor.value_or(0));
    if (factor == 0 || type == "none") factor = 1;
    const double amplitude = keys_.number("rope.scaling.attn_factor").value_or(1);
    const double original =
        keys_.number("rope.scaling.original_context_length").value_or(longest_.value_or(1));
    if (type == "yarn") {
      yarn(json, factor, amplitude, original);
      return;
    }
    const auto all = factors("rope_freqs.weight");
    auto near = all ? all : factors("rope_factors_short.weight");
    auto far = all ? all : factors("rope_factors_long.weight");
    if (amplitude == 1 && !(near && far)) {
      if (factor == 1) return;
      json.object("rope_scaling", [&] {
        json.member("rope_type", "linear");
        json.member("factor", factor);
      });
      return;
    }
    const std::vector<double> same(static_cast<std::size_t>(turned_ / 2), 1);
    json.object("rope_scaling", [&] {
      json.member("rope_type", "longrope");
      for (const auto& [name, own] :
           {std::pair("short_factor", &near), std::pair("long_factor", &far)}) {
        json.array(name, own->value_or(same), [&](double one) { json.value(one * factor); });
      }
      json.member("original_max_position_embeddings", original);
      json.member("attention_factor", amplitude);
    });
  }

  // Bounds and the whole amplitude are the configuration's, which newer converters write.
  void yarn(JsonWriter& json, double factor, double amplitude, double original) {
    const auto whole = keys_.number("rope.scaling.yarn_attn_factor");
    json.object("rope_scaling", [&] {
      json.member("rope_type", "yarn");
      json.member("factor", factor);
      json.member("original_max_position_embeddings", original);
      if (whole || amplitude != 1) {
        json.member("attention_factor",
                    amplitude * whole.value_or(1 + 0.1 * std::log(std::max(factor, 1.0))));
      }
      for (const auto& [end, name] : {std::pair("rope.scaling.yarn_beta_fast", "beta_fast"),
                                      std::pair("rope.scaling.yarn_beta_slow", "beta_slow")}) {
        if (const auto bound = keys_.number(end)) json.member(name, *bound);
      }
      if (family_ == "gpt_oss") json.member("truncate", false);
    });
  }

  static void integer(JsonWriter& json, const char* name, double value) {
    if (!(value >= 0) || value > 1e15) {
      throw input_error(translated("{1} is not a size", number_text(value)), name,
                        translated("convert the model again"));
    }
    json.member(name, static_cast<std::size_t>(value));
  }

  const Gguf& file_;
  const std::string name_;
  GgufKeys keys_;
  const std::string family_;
  std::vector<std::string> tensors_;
  std::optional<double> longest_;
  double width_ = 0, heads_ = 0, head_width_ = 0, layers_ = 0, turned_ = 0;
};

}  // namespace

GgufModel read_gguf_model(const Gguf& file) {
  const auto name = file.text(architecture_key);
  if (!name) {
    throw input_error(translated("the file does not say its general.architecture"),
                      std::string(architecture_key),
                      translated("it holds no model, or a part of one: choose another file"));
  }
  // llama.cpp has one name for Llama and for Mixtral, which has experts.
  const bool mixtral = *name == "llama" && file.number("llama.expert_count").value_or(0) > 0;
  const JsonValue& entry = known_architecture(mixtral ? "mixtral" : std::string(*name));
  std::string family = entry.find("family")->string();
  // llama.cpp has one name for OLMo 2 and OLMo 3, which has windows.
  if (family == "olmo2" && file.number("olmo2.attention.sliding_window").value_or(0) > 0) {
    family = "olmo3";
  }
  GgufModel model = ConfigurationWriter(file, std::string(*name), family).model();
  JsonValue::Object like;
  like->push_back({"like", JsonValue{family}});
  like->push_back({"biases", JsonValue()});  // as the file has them
  model.row = over(JsonValue{std::move(like)}, names_of(entry));
  return model;
}

namespace {

/// A key that changes what llama.cpp computes for some architectures, and is read for no other.
struct OtherArchitecturesKey {
  std::string_view end;
  const char* wrong;   ///< what would be computed wrongly, marked for translated()
  double neutral = 0;  ///< a number besides 0 that changes nothing
};

constexpr const char* scaled_wrongly =
    to_translate("scores would be scaled by the width of a head");
constexpr const char* as_projected =
    to_translate("queries, keys and values would stay as they are");
constexpr const char* turned_as_trained = to_translate("positions would be rotated as in training");
constexpr const char* shares_as_they_are = to_translate("shares of experts would stay as they are");
constexpr const char* read_as_whole = to_translate("keys and values would be read as whole ones");

constexpr auto other_architectures_keys = std::to_array<OtherArchitecturesKey>(
    {{"logit_scale", to_translate("logits would stay as they are"), 1},
     {"residual_scale", to_translate("branches would be added as they are"), 1},
     {"embedding_scale", to_translate("embeddings would stay as they are"), 1},
     {"attn_logit_softcapping", to_translate("scores would stay as they are")},
     {"final_logit_softcapping", to_translate("logits would stay as they are")},
     {"attention.clamp_kqv", as_projected},
     {"attention.scale", scaled_wrongly},
     {"attention.output_scale", scaled_wrongly, 1},
     {"attention.temperature_scale", scaled_wrongly},
     {"attention.temperature_length", scaled_wrongly},
     {"attention.max_alibi_bias", to_translate("the bias of distances would be another"), 8},
     {"attention.shared_kv_layers", to_translate("layers would have keys of their own")},
     {"attention.kv_lora_rank", read_as_whole},
     {"attention.q_lora_rank", read_as_whole},
     {"rope.scaling.yarn_ext_factor", turned_as_trained, 1},
     {"rope.scaling.yarn_log_multiplier", turned_as_trained},
     {"rope.scaling.alpha", turned_as_trained, 1},
     {"expert_shared_count", shares_as_they_are},
     {"expert_group_count", shares_as_they_are, 1},
     {"expert_weights_scale", shares_as_they_are, 1}});

constexpr auto inert_keys = std::to_array<std::string_view>(
    {"rope.scaling.finetuned", "rope.dimension_sections", "attention.group_norm_epsilon",
     "attention.group_norm_groups"});

}  // namespace

bool GgufKeys::has(std::string_view end) {
  const bool there = file_.has(key(end));
  if (there) read_.insert(key(end));
  return there;
}

std::optional<double> GgufKeys::number(std::string_view end) {
  return has(end) ? file_.number(key(end)) : std::nullopt;
}

std::optional<bool> GgufKeys::boolean(std::string_view end) {
  return has(end) ? file_.boolean(key(end)) : std::nullopt;
}

std::optional<std::string> GgufKeys::text(std::string_view end) {
  if (!has(end)) return std::nullopt;
  return std::string(*file_.text(key(end)));
}

std::vector<double> GgufKeys::numbers(std::string_view end) {
  return has(end) ? file_.numbers(key(end)) : std::vector<double>();
}

double GgufKeys::needed(std::string_view end) {
  if (const auto value = number(end)) return *value;
  throw input_error(translated("the file has no number under this key"), key(end),
                    translated("the model cannot be described without it: convert it again"));
}

std::optional<double> GgufKeys::same_number(std::string_view end) {
  const std::vector<double> all = numbers(end);
  if (all.empty()) return std::nullopt;
  if (std::ranges::count(all, all.front()) != static_cast<std::ptrdiff_t>(all.size())) {
    throw input_error(translated("the layers have different sizes"), key(end),
                      translated("layers of one size are computed"));
  }
  return all.front();
}

std::vector<std::string> GgufKeys::check_unread() const {
  std::vector<std::string> unknown;
  for (const std::string& name : file_.keys()) {
    if (!name.starts_with(architecture_ + ".") || read_.contains(name)) continue;
    const std::string_view end = std::string_view(name).substr(architecture_.size() + 1);
    const auto refused =
        std::ranges::find(other_architectures_keys, end, &OtherArchitecturesKey::end);
    if (refused != other_architectures_keys.end()) {
      const double given = *file_.number(name);
      if (given == 0 || given == refused->neutral) continue;
      throw input_error(translated("this value is not supported: {1}", number_text(given)), name,
                        translated(refused->wrong));
    }
    const bool counts = end.starts_with("attention.") || end.starts_with("rope.");
    if (counts && std::ranges::count(inert_keys, end) == 0) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace attn
