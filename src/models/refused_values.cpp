#include "models/refused_values.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

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

}  // namespace

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
  struct Neutral {
    const char* key;
    double value;
    const char* wrong;
  };
  constexpr std::array<Neutral, 11> neutral{
      {{"num_hidden_groups", 1, to_translate("all layers would be treated as one")},
       {"inner_group_num", 1, to_translate("layers within layers would be left out")},
       {"residual_multiplier", 1, to_translate("branches would be added as they are")},
       {"embedding_multiplier", 1, to_translate("embeddings would stay as they are")},
       {"attention_multiplier", 1, to_translate("scores would be scaled by the width of a head")},
       {"logits_scaling", 1, to_translate("logits would stay as they are")},
       {"logit_scale", 1, to_translate("logits would stay as they are")},
       {"clip_qkv", 0, to_translate("queries, keys and values would stay as they are")},
       {"rotary_scaling_factor", 1, to_translate("positions would be rotated as in training")},
       {"num_kv_shared_layers", 0, to_translate("layers would have keys of their own")},
       {"attention_chunk_size", 0, to_translate("queries would see keys of other chunks")}}};
  if (const JsonValue* type = present_member(config, "position_embedding_type")) {
    const std::string name = type->is(JsonValue::Type::string) ? type->string() : "absolute";
    const bool turned =
        (name == "rotary" || name.starts_with("rope")) && row.positions == ModelPositions::rotary;
    if (name != "absolute" && !turned) {
      refuse_key("position_embedding_type",
                 translated("positions of the type {1} are not computed", in_quotes(name)),
                 translated("the maps would lack the scores of their distances"));
    }
  }
  const ConfigurationReader reader(config, row);
  refuse_other_values(reader, row.only);
  for (const Neutral& known : neutral) {
    const auto reads = [&](const RowValue<double>& of) {
      return std::ranges::count(of.keys, known.key) > 0;
    };
    if (reads(row.branch_multiplier) || reads(row.embedding_multiplier) ||
        reads(row.logit_multiplier) || reads(row.logit_divisor) || reads(row.score_multiplier) ||
        reads(row.clip)) {
      continue;
    }
    const JsonValue* value = reader.find(known.key);
    if (value == nullptr || !value->is(JsonValue::Type::number) || value->number() == known.value) {
      continue;
    }
    std::string shown = number_text(value->number());
    refuse_key(known.key, translated("\"{1}\": {2} is not supported", known.key, shown),
               translated(known.wrong));
  }
}

}  // namespace attn
