#include "models/architecture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "attn/error.hpp"

#include "models/configuration_reader.hpp"
#include "models/family_rows.hpp"
#include "models/rotary_reader.hpp"
#include "models/row_check.hpp"
#include "models/window_reader.hpp"
#include "support/in_quotes.hpp"
#include "support/nearest_name.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

TensorNames read_names(const JsonValue& names) {
  TensorNames result;
  for (const JsonMember& name : names.members()) result.emplace(name.key, strings_of(name.value));
  return result;
}

template <class Value, std::size_t N>
Value named(const JsonValue& row, const char* key,
            const std::array<std::pair<std::string_view, Value>, N>& known, Value otherwise) {
  const JsonValue* value = present_member(row, key);
  if (value == nullptr) return otherwise;
  std::vector<std::string_view> names;
  for (const auto& [name, meaning] : known) {
    if (name == value->string()) return meaning;
    names.push_back(name);
  }
  throw input_error(translated("the row says \"{1}\": {2}", key, in_quotes(value->string())),
                    pointer_to("", key), suggestion(value->string(), names));
}

void expect_numbers(const std::string& key, const JsonValue& list) {
  constexpr const char* wanted = to_translate("a list of numbers");
  if (!list.is(JsonValue::Type::array)) refuse_type(key, list, wanted);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list.element(i).is(JsonValue::Type::number)) refuse_type(key, list.element(i), wanted);
  }
}

void refuse_unsupported(const JsonValue& config) {
  if (present_member(config, "quantization_config") != nullptr) {
    refuse_key("quantization_config",
               translated("the weights are quantised, and what they stand for is not known"),
               translated("take the model's unquantised folder"));
  }
  if (const JsonValue* type = present_member(config, "position_embedding_type")) {
    if (type->is(JsonValue::Type::string) && type->string() != "absolute") {
      refuse_key(
          "position_embedding_type",
          translated("positions of the type {1} are not computed", in_quotes(type->string())),
          translated("the maps would lack the scores of their distances"));
    }
  }
  struct Neutral {
    const char* key;
    double value;
    const char* wrong;
  };
  constexpr std::array<Neutral, 9> neutral{
      {{"num_hidden_groups", 1, to_translate("all layers would be taken for one")},
       {"inner_group_num", 1, to_translate("layers within layers would be left out")},
       {"residual_multiplier", 1, to_translate("branches would be added as they are")},
       {"embedding_multiplier", 1, to_translate("embeddings would stay as they are")},
       {"logits_scaling", 1, to_translate("logits would stay as they are")},
       {"logit_scale", 1, to_translate("logits would stay as they are")},
       {"clip_qkv", 0, to_translate("queries, keys and values would stay as they are")},
       {"num_kv_shared_layers", 0, to_translate("layers would have keys of their own")},
       {"attention_chunk_size", 0, to_translate("queries would see keys of other chunks")}}};
  for (const Neutral& known : neutral) {
    const JsonValue* value = present_member(config, known.key);
    if (value == nullptr || !value->is(JsonValue::Type::number) || value->number() == known.value) {
      continue;
    }
    std::string shown = number_text(value->number());
    refuse_key(known.key, translated("\"{1}\": {2} is not supported", known.key, shown),
               translated(known.wrong));
  }
  const JsonValue* crosses = present_member(config, "add_cross_attention");
  if (crosses != nullptr && crosses->is(JsonValue::Type::boolean) && crosses->boolean()) {
    refuse_key("add_cross_attention",
               translated("decoders that read another model's states are not computed"),
               translated("their maps need that model's states"));
  }
}

constexpr std::array<std::pair<std::string_view, ModelNorm>, 3> norms{
    {{"layer", ModelNorm::layer},
     {"rms", ModelNorm::rms},
     {"rms_plus_one", ModelNorm::rms_plus_one}}};
constexpr std::array<std::pair<std::string_view, ModelPositions>, 6> position_kinds{
    {{"none", ModelPositions::none},
     {"learned", ModelPositions::learned},
     {"sinusoidal", ModelPositions::sinusoidal},
     {"rotary", ModelPositions::rotary},
     {"alibi", ModelPositions::alibi},
     {"buckets", ModelPositions::buckets}}};
constexpr std::array<std::pair<std::string_view, FusedLayout>, 3> layouts{
    {{"side_by_side", FusedLayout::side_by_side},
     {"each_head", FusedLayout::each_head},
     {"each_group", FusedLayout::each_group}}};

constexpr std::array<std::pair<std::string_view, bool>, 1> stored_layouts{
    {{"input_by_output", true}}};
constexpr std::array<std::pair<std::string_view, bool>, 1> embedding_scales{
    {{"root_of_width", true}}};
constexpr std::array<std::pair<std::string_view, bool>, 1> offset_rules{{{"pad_plus_one", true}}};

// Whether the folder holds the encoder of an encoder-decoder by itself.
bool encoder_alone(const JsonValue& config) {
  const JsonValue* classes = present_member(config, "architectures");
  if (classes == nullptr || !classes->is(JsonValue::Type::array)) return false;
  for (std::size_t i = 0; i < classes->size(); ++i) {
    const JsonValue& name = classes->element(i);
    if (name.is(JsonValue::Type::string) && name.string().ends_with("EncoderModel")) return true;
  }
  return false;
}

Architecture normalised(const JsonValue& config, const JsonValue& row, std::string family) {
  const ConfigurationReader reader(config, row);
  Architecture model;
  model.family = std::move(family);
  // 1. Sizes.
  model.width = reader.required("width", {"hidden_size", "n_embd", "n_embed", "d_model", "dim"});
  model.heads = reader.required(
      translated("number of heads"),
      {"num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads"});
  model.kv_heads = reader.first_count({"num_key_value_heads"}).value_or(model.heads);
  if (const auto own = reader.chosen(row, "kv_heads", "kv_heads_keys")) {
    model.kv_heads = size_of_number(*own);
  }
  if (const auto other = reader.first_count({"decoder_attention_heads"});
      other && *other != model.heads) {
    refuse_key("decoder_attention_heads",
               translated("encoder and decoder have different numbers of heads"),
               translated("the decoder's heads would be cut wrongly"));
  }
  if (model.kv_heads == 0 || model.heads % model.kv_heads != 0) {
    refuse_key(
        "num_key_value_heads",
        translated("{1} query heads cannot share {2} key heads", model.heads, model.kv_heads),
        translated("the number of query heads must be a multiple"));
  }
  model.head_width = reader.first_count({"head_dim", "d_kv"}).value_or(model.width / model.heads);
  if (model.head_width == 0)
    refuse_key("head_dim", translated("the heads have no width"), translated("check the sizes"));
  model.vocabulary = reader.first_count({"vocab_size"}).value_or(0);
  const std::size_t layers =
      reader.required(translated("number of layers"),
                      {"num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers"});

  // What no model has.
  constexpr std::size_t most = 1 << 20U, most_layers = 10'000;
  for (const std::size_t size : {model.width, model.heads, model.head_width}) {
    if (size <= most) continue;
    throw input_error(translated("the configuration asks for a size of {1}", size), "",
                      translated("no size of a model is beyond {1}", most));
  }
  for (const std::size_t count :
       {layers, reader.first_count({"num_decoder_layers", "decoder_layers"}).value_or(1)}) {
    if (count <= most_layers) continue;
    throw input_error(translated("the configuration asks for {1} layers", count), "",
                      translated("no model has more than {1}", most_layers));
  }

  // 2. What all layers share.
  model.norm = named(row, "norm", norms, ModelNorm::layer);
  model.eps = reader.chosen(row, "eps", "eps_keys").value_or(1e-5);
  if (!(model.eps >= 0) || !std::isfinite(model.eps)) {
    positive(reader.listed(row, "eps_keys").value_or("eps"), model.eps);
  }
  model.activation = read_activation(reader, row, "gelu");
  model.positions = named(row, "positions", position_kinds, ModelPositions::none);
  model.parallel = reader.chosen_boolean(row, "parallel", "parallel_keys", false);
  model.residual_after_norm =
      reader.chosen_boolean(row, "residual_after_norm", "residual_after_norm_keys", false);
  model.whole_width_norms = reader.chosen_boolean(row, "whole_width_norms", "", false);
  model.stored_transposed = named(row, "stored", stored_layouts, false);
  model.fused = named(row, "fused", layouts, FusedLayout::side_by_side);
  model.alibi_scaled = reader.chosen_boolean(row, "alibi_scaled", "", false);
  if (const JsonValue* optional = present_member(row, "optional"))
    model.optional = strings_of(*optional);
  model.softcap = reader.chosen(row, "softcap", "softcap_keys");
  model.logit_softcap = reader.chosen(row, "logit_softcap", "logit_softcap_keys");
  for (const auto& [cap, keys] : {std::pair(&model.softcap, "softcap_keys"),
                                  std::pair(&model.logit_softcap, "logit_softcap_keys")}) {
    if (reader.given_as_null(row, keys)) cap->reset();
    if (*cap) positive(reader.listed(row, keys).value_or("softcap"), **cap);
  }
  const JsonValue* tied = present_member(row, "tied");
  model.tied = reader.boolean("tie_word_embeddings").value_or(tied == nullptr || tied->boolean());
  if (reader.chosen_boolean(row, "tied_logits_by_root_of_width", "", false) && model.tied) {
    model.tied_logit_scale = 1 / std::sqrt(static_cast<double>(model.width));
  }
  if (named(row, "embedding_scale", embedding_scales, false) ||
      reader.chosen_boolean(row, "", "embedding_scale_keys", false)) {
    model.embedding_scale = std::sqrt(static_cast<double>(model.width));
  }
  const auto id = [&](const char* key) -> std::optional<std::int64_t> {
    const JsonValue* value = reader.find(key);
    if (value == nullptr || !value->is(JsonValue::Type::number) || !value->is_integer()) {
      return std::nullopt;
    }
    return value->integer();
  };
  model.pad_id = id("pad_token_id");
  model.decoder_start_id = id("decoder_start_token_id");

  // 3. Positions.
  const auto table = reader.first_count({"max_position_embeddings", "n_positions", "n_ctx"});
  if (model.positions == ModelPositions::rotary) model.made_for = table;
  if (const JsonValue* offset = present_member(row, "position_offset")) {
    const bool behind_padding =
        offset->is(JsonValue::Type::string) && named(row, "position_offset", offset_rules, false);
    model.first_position = behind_padding ? static_cast<std::size_t>(model.pad_id.value_or(1) + 1)
                                          : static_cast<std::size_t>(offset->integer());
    if (behind_padding && table) {
      model.longest = *table > model.first_position ? *table - model.first_position : 0;
    }
  }
  if (model.first_position > 1 << 20U) {
    refuse_key("pad_token_id",
               translated("positions cannot begin at {1}",
                          static_cast<std::ptrdiff_t>(model.first_position)),
               translated("they begin behind the id of the padding token"));
  }
  if (const JsonValue* buckets = present_member(row, "buckets")) {
    model.buckets.count =
        size_of_number(reader.chosen(*buckets, "count", "count_keys").value_or(32));
    model.buckets.max_distance =
        size_of_number(reader.chosen(*buckets, "distance", "distance_keys").value_or(128));
    if (model.buckets.count < 4 || model.buckets.count > 65536 ||
        model.buckets.max_distance <= model.buckets.count / 2) {
      throw input_error(translated("distances up to {1} cannot be put into {2} buckets",
                                   model.buckets.max_distance, model.buckets.count),
                        "/relative_attention_num_buckets",
                        translated("give at least 4, and a distance of more than half as many"));
    }
  }

  // 4. Feed-forward.
  if (const auto key = reader.listed(row, "feed_forward_keys")) {
    std::string name = *reader.text(*key);
    constexpr std::string_view gated = "gated-";
    const bool has_gate = name.starts_with(gated);
    if (has_gate) name.erase(0, gated.size());
    // "gated-gelu" has always meant the approximation.
    model.activation = activation_of(has_gate && name == "gelu" ? "gelu_new" : name, *key);
  }
  if (const JsonValue* experts = present_member(row, "experts")) {
    ModelExperts own;
    own.count = size_of_number(reader.chosen(*experts, "count", "count_keys").value_or(0));
    own.chosen = size_of_number(reader.chosen(*experts, "chosen", "chosen_keys").value_or(0));
    own.limit = reader.chosen(*experts, "limit", "limit_keys").value_or(7);
    if (own.chosen == 0 || own.chosen > own.count) {
      refuse_key("num_experts_per_tok",
                 translated("each token takes {1} of {2} experts", own.chosen, own.count),
                 translated("from one to all of them can be taken"));
    }
    model.experts = own;
  } else if (const auto other = reader.first_count({"num_local_experts", "num_experts"});
             other && *other > 1) {
    refuse_key("num_local_experts",
               translated("feed-forwards that choose among experts are not computed"),
               translated("of this kind gpt_oss alone is known"));
  }

  // 5. The head.
  if (const JsonValue* head = present_member(row, "head")) {
    const auto text_in = [&](const char* key) {
      const JsonValue* value = present_member(*head, key);
      return value == nullptr ? std::string() : value->string();
    };
    model.head.dense = text_in("dense");
    model.head.norm = text_in("norm");
    model.head.weight = text_in("weight");
    if (const JsonValue* bias = present_member(*head, "bias")) model.head.bias = strings_of(*bias);
    if (present_member(*head, "activation") != nullptr) {
      model.head.activation = read_activation(reader, *head, "gelu");
    }
  }

  // 6. Stacks and their layers.
  if (const JsonValue* prefixes = present_member(row, "prefixes"))
    model.prefixes = strings_of(*prefixes);
  const auto stack_of = [&](const JsonValue& part, std::string prefix, bool causal, bool crosses,
                            std::size_t count) {
    ModelStack stack;
    stack.prefix = std::move(prefix);
    stack.causal = causal;
    stack.crosses = crosses;
    const JsonValue* names = present_member(part, "names");
    if (names == nullptr)
      refuse_key("names", translated("the row names no tensors"), "give \"names\"");
    stack.names = read_names(*names);
    std::optional<RotaryReader> rotary;
    if (model.positions == ModelPositions::rotary) rotary.emplace(reader, model.head_width);
    const WindowReader windows(reader, causal);
    if (causal && windows.both_ways()) stack.causal = false;
    const JsonValue* rotary_part = present_member(row, "rotary");
    const JsonValue* zero = nullptr;
    std::size_t off_every = 0;
    if (rotary_part != nullptr) {
      if (const auto key = reader.listed(*rotary_part, "off_where_zero_keys")) {
        zero = reader.find(*key);
        expect_numbers(*key, *zero);
      }
      off_every =
          size_of_number(reader.chosen(*rotary_part, "off_every", "off_every_keys").value_or(0));
    }
    const JsonValue* fixed = present_member(row, "scale");
    const auto scale_of = reader.chosen(row, "scale_of", "scale_keys");
    const auto head_width = static_cast<double>(model.head_width);
    if (scale_of) positive(reader.listed(row, "scale_keys").value_or("scale_of"), *scale_of);
    double scale = 1 / std::sqrt(scale_of.value_or(head_width));
    if (fixed != nullptr) scale = fixed->number();
    if (!reader.boolean("scale_attn_weights").value_or(true)) scale = 1;
    const bool by_layer = reader.boolean("scale_attn_by_inverse_layer_idx").value_or(false);
    for (std::size_t n = 0; n < count; ++n) {
      ModelLayer layer;
      layer.scale = by_layer ? scale / static_cast<double>(n + 1) : scale;
      const bool turned = zero != nullptr && n < zero->size() ? zero->element(n).number() != 0
                          : off_every > 0                     ? (n + 1) % off_every != 0
                                                              : true;
      layer.window = windows.of_layer(n, turned);
      if (rotary && turned) layer.rotary = rotary->read(layer.window.has_value());
      stack.layers.push_back(std::move(layer));
    }
    return stack;
  };
  const auto prefix_of = [](const JsonValue& part) {
    const JsonValue* prefix = present_member(part, "prefix");
    return prefix == nullptr ? std::string() : prefix->string();
  };
  const JsonValue* encoder = present_member(row, "encoder");
  const JsonValue* decoder = present_member(row, "decoder");
  if (encoder != nullptr && encoder_alone(config)) {
    model.stacks.push_back(stack_of(*encoder, prefix_of(*encoder), false, false, layers));
    return model;
  }
  if (encoder != nullptr && decoder != nullptr) {
    model.stacks.push_back(stack_of(*encoder, prefix_of(*encoder), false, false, layers));
    model.stacks.push_back(
        stack_of(*decoder, prefix_of(*decoder), true, true,
                 reader.first_count({"num_decoder_layers", "decoder_layers"}).value_or(layers)));
    return model;
  }
  const JsonValue* causal = present_member(row, "causal");
  // A BERT that is a decoder sees what is before.
  const bool sees_before =
      (causal != nullptr && causal->boolean()) || reader.boolean("is_decoder").value_or(false);
  ModelStack stack = stack_of(row, "", sees_before, false, layers);
  // Norms behind the residuals, where the configuration chooses.
  if (!reader.chosen_boolean(row, "", "norm_first_keys", true)) {
    for (const auto& [before, after] :
         {std::pair("before_attention", "after_attention_sum"),
          std::pair("before_feed_forward", "after_feed_forward_sum")}) {
      auto own = stack.names.extract(before);
      own.key() = after;
      stack.names.insert(std::move(own));
    }
    stack.names.erase("final_norm");
  }
  model.stacks.push_back(std::move(stack));
  return model;
}

}  // namespace

Architecture read_architecture(const JsonValue& config, const JsonValue* row) {
  if (!config.is(JsonValue::Type::object)) {
    throw input_error(
        translated("the configuration is {1}, no object", translated(type_text(config))), "",
        translated("this is no config.json of a model"));
  }
  refuse_unsupported(config);
  const JsonValue& part = language_part(config);
  refuse_unsupported(part);
  const std::string family = family_of(part);
  if (row != nullptr) check_row(*row);
  JsonValue complete = row_of(part, row);
  if (&part != &config) complete = with_part_sizes(complete, part);
  Architecture model = normalised(part, complete, family.empty() ? "own row" : family);
  if (&part != &config) {
    for (const char* prefix : {"language_model.model.", "model.language_model."}) {
      model.prefixes.emplace_back(prefix);
    }
  }
  model.prefixes.emplace_back("");
  return model;
}

}  // namespace attn
