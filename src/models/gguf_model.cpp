#include "models/gguf_model.hpp"

#include <algorithm>
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
"t5encoder": {"like": "t5", "family": "t5", "row": {}}
})json";

const JsonValue& table() {
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
  return like == nullptr ? own : over(names_of(*table().find(like->string())), own);
}

const JsonValue& known_architecture(const std::string& name) {
  if (const JsonValue* entry = table().find(name)) return *entry;
  std::vector<std::string_view> known;
  for (const JsonMember& entry : table().members()) known.push_back(entry.key);
  throw input_error(translated("models of the architecture {1} are not computed", in_quotes(name)),
                    std::string(architecture_key), suggestion(name, known));
}

/// Writes a configuration from the keys of a file.
class ConfigurationWriter {
 public:
  ConfigurationWriter(const Gguf& file, std::string name, std::string family)
      : file_(file), name_(std::move(name)), family_(std::move(family)) {}

  JsonValue config() {
    refuse_unsupported();
    return parse_json(json_text([&](JsonWriter& json) {
      json.begin_object();
      json.member("model_type", std::string_view(family_));
      if (name_ == "t5encoder") {
        json.member("architectures", std::vector<std::string>{"T5EncoderModel"});
      }
      sizes(json);
      rules(json);
      positions(json);
      scaling(json);
      json.end_object();
    }));
  }

 private:
  std::string key(std::string_view end) const { return name_ + "." + std::string(end); }

  std::optional<double> number(std::string_view end) const { return file_.number(key(end)); }

  double needed(std::string_view end) const {
    if (const auto value = number(end)) return *value;
    throw input_error(translated("the file has no number under this key"), key(end),
                      translated("the model cannot be described without it: convert it again"));
  }

  // A number of each layer, which must be the same for all of them.
  std::optional<double> same_number(std::string_view end) const {
    const std::vector<double> all = file_.numbers(key(end));
    if (all.empty()) return std::nullopt;
    if (std::ranges::count(all, all.front()) != static_cast<std::ptrdiff_t>(all.size())) {
      throw input_error(translated("the layers have different sizes"), key(end),
                        translated("layers of one size are computed"));
    }
    return all.front();
  }

  std::optional<std::size_t> find(std::string_view name) const {
    const auto found = std::ranges::find(file_.names(), name);
    if (found == file_.names().end()) return std::nullopt;
    return static_cast<std::size_t>(found - file_.names().begin());
  }

  void refuse_unsupported() const {
    const auto neutral = [&](std::string_view end, double value, const char* wrong) {
      const auto given = number(end);
      if (!given || *given == value) return;
      throw input_error(translated("this value is not supported: {1}", number_text(*given)),
                        key(end), translated(wrong));
    };
    neutral("logit_scale", 1, to_translate("logits would stay as they are"));
    neutral("residual_scale", 1, to_translate("branches would be added as they are"));
    neutral("embedding_scale", 1, to_translate("embeddings would stay as they are"));
    neutral("attention.clamp_kqv", 0,
            to_translate("queries, keys and values would stay as they are"));
    const auto width = number("attention.key_length");
    const auto value_width = number("attention.value_length");
    if (width && value_width) {
      neutral("attention.value_length", *width,
              to_translate("values as wide as keys are computed"));
    }
  }

  void sizes(JsonWriter& json) {
    const double width = needed("embedding_length");
    heads_ = same_number("attention.head_count").value_or(0);
    if (heads_ < 1) needed("attention.head_count");
    head_width_ = number("attention.key_length").value_or(std::floor(width / heads_));
    integer(json, "hidden_size", width);
    integer(json, "num_attention_heads", heads_);
    integer(json, "num_key_value_heads", same_number("attention.head_count_kv").value_or(heads_));
    integer(json, "head_dim", head_width_);
    integer(json, "num_hidden_layers", needed("block_count"));
    if (const auto decoder = number("decoder_block_count")) {
      integer(json, "num_decoder_layers", *decoder);
    }
    if (const auto tokens = find("token_embd.weight")) {
      const Shape& shape = file_.shape(*tokens);
      if (!shape.empty()) json.member("vocab_size", shape.front());
    }
    if (const auto longest = number("context_length")) {
      integer(json, "max_position_embeddings", *longest);
    }
    json.member("tie_word_embeddings", !find("output.weight").has_value());
  }

  void rules(JsonWriter& json) {
    auto eps = number("attention.layer_norm_rms_epsilon");
    if (!eps) eps = number("attention.layer_norm_epsilon");
    for (const char* name : {"rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"}) {
      if (eps) json.member(name, *eps);
    }
    if (const auto parallel = file_.boolean(key("use_parallel_residual"))) {
      json.member("use_parallel_residual", *parallel);
    }
    if (const auto cap = number("attn_logit_softcapping")) {
      json.member("attn_logit_softcapping", *cap);
    }
    if (const auto cap = number("final_logit_softcapping")) {
      json.member("final_logit_softcapping", *cap);
    }
    json.member("query_pre_attn_scalar", head_width_);
    // Fused projections are side by side in the file, whatever they were.
    if (family_ == "falcon") json.member("multi_query", false);
    if (const auto count = number("expert_count"); count && *count > 0) {
      integer(json, "num_local_experts", *count);
      integer(json, "num_experts_per_tok", needed("expert_used_count"));
    }
    // T5: without a gate relu, with one the approximated gelu of T5 1.1.
    if (family_ == "t5") {
      json.member("feed_forward_proj", find("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu");
      if (const auto start = number("decoder_start_token_id")) {
        integer(json, "decoder_start_token_id", *start);
      }
      if (const auto count = number("attention.relative_buckets_count")) {
        integer(json, "relative_attention_num_buckets", *count);
      }
    }
    if (const auto padding = file_.number("tokenizer.ggml.padding_token_id")) {
      integer(json, "pad_token_id", *padding);
    }
  }

  void positions(JsonWriter& json) {
    const auto window = number("attention.sliding_window");
    if (window && *window > 0) {
      integer(json, "sliding_window", *window);
    } else if (window) {
      json.member("sliding_window", std::optional<bool>());  // 0 is none
    }
    if (const auto every = number("attention.sliding_window_pattern")) {
      integer(json, "sliding_window_pattern", *every);
    }
    if (const auto base = number("rope.freq_base")) json.member("rope_theta", *base);
    if (const auto base = number("rope.freq_base_swa")) json.member("rope_local_base_freq", *base);
    if (const auto turned = number("rope.dimension_count")) {
      integer(json, "rope_dimension_count", *turned);
    } else {
      integer(json, "rope_dimension_count", head_width_);
    }
  }

  // Factors of the frequencies, one for each pair of turned columns.
  std::optional<std::vector<double>> factors(std::string_view name) const {
    const auto index = find(name);
    if (!index) return std::nullopt;
    const Tensor read = file_.read(*index).converted(DType::float64);
    const std::span<const double> values = read.values<double>();
    return std::vector<double>(values.begin(), values.end());
  }

  void scaling(JsonWriter& json) {
    const std::string type(file_.text(key("rope.scaling.type")).value_or(""));
    const auto original = number("rope.scaling.original_context_length");
    const auto longest = number("context_length");
    const auto all = factors("rope_freqs.weight");
    const auto near = all ? all : factors("rope_factors_short.weight");
    const auto far = all ? all : factors("rope_factors_long.weight");
    if (near && far) {
      json.object("rope_scaling", [&] {
        json.member("rope_type", "longrope");
        json.array("short_factor", *near, [&](double factor) { json.value(factor); });
        json.array("long_factor", *far, [&](double factor) { json.value(factor); });
        json.member("original_max_position_embeddings", original.value_or(longest.value_or(1)));
        const auto amplitude = number("rope.scaling.attn_factor");
        if (all || amplitude) json.member("attention_factor", amplitude.value_or(1));
      });
      return;
    }
    if (type.empty() || type == "none") return;
    json.object("rope_scaling", [&] {
      json.member("rope_type", std::string_view(type));
      json.member("factor", needed("rope.scaling.factor"));
      if (original) json.member("original_max_position_embeddings", *original);
      if (const auto amplitude = number("rope.scaling.attn_factor")) {
        json.member("attention_factor", *amplitude);
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
  std::string name_, family_;
  double heads_ = 0, head_width_ = 0;
};

}  // namespace

GgufModel read_gguf_model(const Gguf& file) {
  const auto name = file.text(architecture_key);
  if (!name) {
    throw input_error(translated("the file does not say its general.architecture"),
                      std::string(architecture_key),
                      translated("it holds no model, or a part of one: choose another file"));
  }
  const JsonValue& entry = known_architecture(std::string(*name));
  const std::string& family = entry.find("family")->string();
  GgufModel model;
  model.config = ConfigurationWriter(file, std::string(*name), family).config();
  JsonValue::Object like;
  like->push_back({"like", JsonValue{family}});
  like->push_back({"biases", JsonValue()});  // as the file has them
  model.row = over(JsonValue{std::move(like)}, names_of(entry));
  return model;
}

}  // namespace attn
