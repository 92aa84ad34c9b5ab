#include "models/library_keys.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "models/architecture.hpp"
#include "models/configuration_reader.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Eight bits with scales for blocks of 128 rows and columns (DeepSeek, Qwen), and four bits in the
// experts (gpt-oss): numbers that the file of weights holds in blocks with their scales.
bool reads_quantized(const JsonValue& quantized) {
  const JsonValue* method =
      quantized.is(JsonValue::Type::object) ? quantized.find("quant_method") : nullptr;
  if (method == nullptr || !method->is(JsonValue::Type::string)) return false;
  if (method->string() == "mxfp4") return true;
  const JsonValue* blocks = quantized.find("weight_block_size");
  if (method->string() != "fp8" || blocks == nullptr || !blocks->is(JsonValue::Type::array)) {
    return false;
  }
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const JsonValue& size = blocks->element(i);
    if (!size.is(JsonValue::Type::number) || size.number() != 128) return false;
  }
  return blocks->size() == 2;
}

// Values of the family's own keys with which its code computes something else.
void refuse_other_values(const ConfigurationReader& reader, const JsonValue& only) {
  if (!only.is(JsonValue::Type::object)) return;
  for (const JsonMember& member : only.members()) {
    const JsonValue* value = reader.find(member.key);
    if (value == nullptr) continue;
    std::vector<JsonValue> known{member.value};
    if (member.value.is(JsonValue::Type::array)) {
      known.clear();
      for (std::size_t i = 0; i < member.value.size(); ++i) {
        known.push_back(member.value.element(i));
      }
    }
    if (std::ranges::any_of(known, [&](const JsonValue& one) { return same_value(*value, one); })) {
      continue;
    }
    refuse_key(member.key,
               translated("\"{1}\": {2} is not supported", member.key, shown_value(*value)),
               translated("the model would be computed as with {1}",
                          known.empty() ? std::string("null") : shown_value(known.front())));
  }
}

// clang-format off
constexpr auto done_keys = std::to_array<std::string_view>({
    "model_type", "architectures", "text_config", "vision_config", "num_hidden_layers",
    "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size",
    "max_position_embeddings", "original_max_position_embeddings", "is_decoder", "is_causal",
    "sliding_window", "layer_types", "rope_parameters", "rope_scaling", "rope_theta",
    "partial_rotary_factor", "tie_word_embeddings", "pad_token_id", "eos_token_id",
    "decoder_start_token_id"});
// clang-format on

// clang-format off
constexpr auto harmless_keys = std::to_array<std::string_view>({
    "output_hidden_states", "output_attentions", "return_dict", "dtype", "torch_dtype",
    "torchscript", "use_cache", "chunk_size_feed_forward", "is_encoder_decoder",
    "cross_attention_hidden_size", "id2label", "label2id", "num_labels", "problem_type",
    "finetuning_task", "task_specific_params", "tokenizer_class", "prefix", "bos_token_id",
    "sep_token_id", "name_or_path", "_name_or_path", "_commit_hash", "transformers_version",
    "auto_map", "attn_implementation", "experts_implementation", "fusion_config",
    "distributed_config", "initializer_range", "initializer_factor", "init_std",
    "attention_dropout", "gradient_checkpointing"});
// clang-format on

constexpr auto refused_keys = std::to_array<RefusedKey>({
    {"quantization_config", to_translate("use the model's unquantized folder")},
    {"add_cross_attention", to_translate("their maps need that model's states")},
    {"per_layer_config", to_translate("all layers would have the same sizes and rules")},
    {"transformers_weights", to_translate("other weights of the folder would be read")},
    {"pruned_heads", to_translate("heads that were taken out would be counted")},
    {"tie_encoder_decoder", to_translate("encoder and decoder would differ as in the file")},
    {"attention_chunk_size", to_translate("queries would see keys of other chunks")},
    // Keys of single families.
    {"num_hidden_groups", to_translate("all layers would be treated as one"), 1},
    {"inner_group_num", to_translate("layers within layers would be left out"), 1},
    {"residual_multiplier", to_translate("branches would be added as they are"), 1},
    {"embedding_multiplier", to_translate("embeddings would stay as they are"), 1},
    {"attention_multiplier", to_translate("scores would be scaled by the width of a head"), 1},
    {"logits_scaling", to_translate("logits would stay as they are"), 1},
    {"logit_scale", to_translate("logits would stay as they are"), 1},
    {"clip_qkv", to_translate("queries, keys and values would stay as they are")},
    {"rotary_scaling_factor", to_translate("positions would be rotated as in training"), 1},
    {"num_kv_shared_layers", to_translate("layers would have keys of their own")},
});

constexpr auto done_rope_keys = std::to_array<std::string_view>(
    {"rope_type", "type", "rope_theta", "partial_rotary_factor", "factor",
     "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale",
     "mscale_all_dim", "truncate", "short_factor", "long_factor", "short_mscale", "long_mscale",
     "low_freq_factor", "high_freq_factor", "alpha"});

// Positions of texts have one axis, and a flag says how a model was trained.
constexpr auto harmless_rope_keys = std::to_array<std::string_view>(
    {"mrope_section", "mrope_interleaved", "finetuned", "max_position_embeddings"});

constexpr auto refused_rope_keys = std::to_array<RefusedKey>(
    {{"llama_4_scaling_beta",
      to_translate("queries far after the first token would keep their size")}});

[[noreturn]] void refuse_value(const RefusedKey& key, const JsonValue& value,
                               const std::string& place) {
  throw input_error(translated("\"{1}\": {2} is not supported", key.key, shown_value(value)),
                    pointer_to(place, key.key), translated(key.wrong));
}

}  // namespace

bool is_neutral(const JsonValue& value, double neutral) {
  switch (value.type()) {
    case JsonValue::Type::boolean:
      return value.boolean() == (neutral != 0);
    case JsonValue::Type::number:
      return value.number() == neutral;
    case JsonValue::Type::string:
      return value.string().empty();
    case JsonValue::Type::array:
      return value.size() == 0;
    case JsonValue::Type::object:
      return value.members().empty();
    case JsonValue::Type::null:
      break;
  }
  return true;
}

std::string shown_value(const JsonValue& value) {
  switch (value.type()) {
    case JsonValue::Type::boolean:
      return value.boolean() ? "true" : "false";
    case JsonValue::Type::string:
      return in_quotes(value.string());
    case JsonValue::Type::number:
      return number_text(value.number());
    default:
      return translated(type_text(value));
  }
}

KeysByTreatment library_keys() noexcept {
  return {done_keys, harmless_keys, refused_keys};
}

KeysByTreatment rope_keys() noexcept {
  return {done_rope_keys, harmless_rope_keys, refused_rope_keys};
}

void refuse_unsupported(const JsonValue& config) {
  const JsonValue* quantized = present_member(config, "quantization_config");
  if (quantized != nullptr && !reads_quantized(*quantized)) {
    refuse_key("quantization_config",
               translated("the weights are quantized, and their meaning is not known"),
               translated("use the model's unquantized folder"));
  }
  const JsonValue* crosses = present_member(config, "add_cross_attention");
  if (crosses != nullptr && crosses->is(JsonValue::Type::boolean) && crosses->boolean()) {
    refuse_key("add_cross_attention",
               translated("decoders that read another model's states are not computed"),
               translated("their maps need that model's states"));
  }
}

void refuse_unread(const JsonValue& config, const FamilyRow& row) {
  if (const JsonValue* type = present_member(config, "position_embedding_type")) {
    const std::string name = type->is(JsonValue::Type::string) ? type->string() : "absolute";
    const bool turned = (name == "rotary" || name.starts_with("rope")) &&
                        row.model.positions == ModelPositions::rotary;
    const bool none = name == "nope" && row.model.positions == ModelPositions::none;
    if (name != "absolute" && !turned && !none) {
      refuse_key("position_embedding_type",
                 translated("positions of the type {1} are not computed", in_quotes(name)),
                 translated("the maps would lack the scores of their distances"));
    }
  }
  const ConfigurationReader reader(config, row);
  refuse_other_values(reader, row.only);
  for (const RefusedKey& refused : refused_keys) {
    if (refused.key == "quantization_config" || row.keys.contains(refused.key)) continue;
    if (refused.key == "per_layer_config" && row.full_layers) continue;
    const JsonValue* value = reader.find(refused.key);
    if (value != nullptr && !is_neutral(*value, refused.neutral)) refuse_value(refused, *value, "");
  }
}

std::vector<std::string> keys_of_others(const JsonValue& config, const FamilyRow& row,
                                        const std::string& family) {
  static const std::vector<std::vector<std::string>> alike{
      {"rope_theta", "rotary_base", "rotary_emb_base", "rope_base", "rope_freq_base",
       "rotary_theta", "theta"},
      {"rms_norm_eps", "rms_norm_epsilon", "layer_norm_eps", "layer_norm_epsilon",
       "layernorm_epsilon", "norm_eps", "norm_epsilon", "eps"}};
  const auto is_there = [&](const std::string& key) {
    if (present_member(config, key) != nullptr) return true;
    const JsonValue* part = present_member(config, "rope_parameters");
    return part != nullptr && present_member(*part, key) != nullptr;
  };
  std::vector<std::string> warnings;
  for (const std::vector<std::string>& group : alike) {
    std::string wanted, found;
    bool read = false;
    for (const std::string& key : group) {
      const bool own = row.keys.contains(key);
      if (own && wanted.empty()) wanted = key;
      if (own && is_there(key)) read = true;
      if (!own && found.empty() && is_there(key)) found = key;
    }
    const JsonValue* kinds = present_member(config, "rope_parameters");
    if (wanted.empty() || found.empty() || read || kinds != nullptr) continue;
    warnings.push_back(
        translated("\"{1}\" of the configuration is not read in models of the type {2}: the number "
                   "stands there under \"{3}\", which is absent, so that the family's own counts",
                   found, family, wanted));
  }
  const JsonValue* window = present_member(config, "sliding_window");
  const JsonValue* turned = present_member(config, "use_sliding_window");
  const JsonValue* longest = present_member(config, "max_position_embeddings");
  const auto number = [](const JsonValue* value, double otherwise) {
    return value != nullptr && value->is(JsonValue::Type::number) ? value->number() : otherwise;
  };
  const double size = number(window, 0);
  if (size > 0 && size < number(longest, std::numeric_limits<double>::infinity()) &&
      !row.keys.contains("sliding_window") && (turned == nullptr || !is_neutral(*turned, 0)) &&
      present_member(config, "layer_types") == nullptr) {
    warnings.push_back(
        translated("\"sliding_window\" of the configuration is not read in models of the type {1}, "
                   "whose layers have no window",
                   family));
  }
  return warnings;
}

std::vector<std::string> unknown_rope_keys(const JsonValue& object, const std::string& place,
                                           bool queries_grow) {
  std::vector<std::string> unknown;
  for (const JsonMember& member : object.members()) {
    const auto refused = std::ranges::find(refused_rope_keys, member.key, &RefusedKey::key);
    if (refused != refused_rope_keys.end()) {
      if (!queries_grow && !is_neutral(member.value, refused->neutral))
        refuse_value(*refused, member.value, place);
    } else if (std::ranges::count(done_rope_keys, member.key) == 0 &&
               std::ranges::count(harmless_rope_keys, member.key) == 0) {
      unknown.push_back(member.key);
    }
  }
  return unknown;
}

}  // namespace attn
