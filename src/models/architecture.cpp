#include "models/architecture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "models/classification.hpp"
#include "models/configuration_reader.hpp"
#include "models/family_row.hpp"
#include "models/library_keys.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Keys of the number of query heads.
constexpr std::initializer_list<const char*> head_keys{
    "num_attention_heads",     "n_head",         "num_heads", "n_heads",
    "encoder_attention_heads", "attention_heads"};

constexpr std::size_t most_layers = 10'000;  // no released model has more

/// Completes the model of a row that was read for the configuration: sizes, what follows from
/// several keys, and layers.
class ArchitectureReader {
 public:
  ArchitectureReader(const JsonValue& config, const FamilyRow& row, std::string family)
      : config_(config), row_(row), reader_(config, row), model_(row.model) {
    model_.family = std::move(family);
  }

  Architecture read() {
    read_sizes();
    read_shared();
    read_positions();
    read_disentangled(reader_, model_);
    read_experts();
    read_input_convolution();
    check_streams();
    read_mixer();
    read_stacks();
    read_vision();
    return std::move(model_);
  }

 private:
  void read_sizes() {
    if (row_.stages) {
      read_stages(*row_.stages);
    } else {
      read_even_sizes();
    }
    for (const std::size_t size : {model_.width, model_.heads, model_.head_width}) {
      if (size <= most_width) continue;
      throw input_error(translated("the configuration asks for a size of {1}", size), "",
                        translated("no size of a model is beyond {1}", most_width));
    }
    for (const std::size_t count : {layers_, decoder_layers_}) {
      if (count <= most_layers) continue;
      throw input_error(translated("the configuration asks for {1} layers", count), "",
                        translated("no model has more than {1}", most_layers));
    }
  }

  // Sizes of the last of several stages.
  void read_stages(const RowStages& stages) {
    const std::size_t count = stages.depths.size();
    constexpr std::size_t most_stages = 16;
    bool fits = count > 0 && count <= most_stages && stages.heads.size() == count;
    for (std::size_t s = 0; fits && s < count; ++s) {
      const std::size_t depth = size_of_number(stages.depths[s]),
                        heads = size_of_number(stages.heads[s]);
      fits = depth > 0 && depth <= most_layers && heads > 0 && (stages.width << s) % heads == 0;
      layers_ += depth;
    }
    if (!fits) {
      throw input_error(
          translated("the configuration gives the layers of {1} and the heads of {2}",
                     translated_count(count, "{1} stage", "{1} stages"), stages.heads.size()),
          "/depths",
          translated("give both for each stage; the width of its states must be a multiple of its "
                     "heads"));
    }
    model_.width = stages.width << (count - 1);
    model_.heads = model_.kv_heads = size_of_number(stages.heads.back());
    model_.head_width = model_.width / model_.heads;
    decoder_layers_ = layers_;
  }

  void read_even_sizes() {
    model_.width = reader_.required(
        "width", {"hidden_size", "n_embd", "n_embed", "d_model", "dim", "emb_dim"});
    const auto key_of = [&](const std::vector<std::string>& keys) {
      return reader_.listed(keys).value_or("");
    };
    model_.size_keys = {"",
                        key_of({"num_decoder_layers", "decoder_layers"}),
                        key_of({"hidden_size", "n_embd", "n_embed", "d_model", "dim", "emb_dim"}),
                        key_of({head_keys.begin(), head_keys.end()}),
                        row_.kv_heads ? "" : key_of({"num_key_value_heads"}),
                        key_of({"vocab_size", "n_words"})};
    model_.heads = reader_.required(translated("number of heads"), head_keys);
    model_.kv_heads = reader_.first_count({"num_key_value_heads"}).value_or(model_.heads);
    if (row_.kv_heads) model_.kv_heads = *row_.kv_heads;
    if (const auto other = reader_.first_count({"decoder_attention_heads"});
        other && *other != model_.heads) {
      refuse_key("decoder_attention_heads",
                 translated("encoder and decoder have different numbers of heads"),
                 translated("the decoder's heads would be cut wrongly"));
    }
    if (model_.kv_heads == 0 || model_.heads % model_.kv_heads != 0) {
      refuse_key(
          "num_key_value_heads",
          translated("{1} query heads cannot share {2} key heads", model_.heads, model_.kv_heads),
          translated("the number of query heads must be a multiple"));
    }
    model_.head_width = reader_.first_count({"head_dim", "d_kv", "attention_head_size"})
                            .value_or(model_.width / model_.heads);
    if (model_.head_width == 0) {
      refuse_key("head_dim", translated("the heads have no width"), translated("check the sizes"));
    }
    if (row_.latent) read_latent();
    model_.vocabulary = reader_.first_count({"vocab_size", "n_words"}).value_or(0);
    // Marian's decoder has words of its own where it shares none.
    const bool shared = reader_.boolean("share_encoder_decoder_embeddings").value_or(true);
    model_.decoder_vocabulary =
        (shared ? std::nullopt : reader_.count("decoder_vocab_size")).value_or(model_.vocabulary);
    // The "num_hidden_layers" of a distilled BART may be that of the model it comes from.
    const std::string layers = translated("number of layers");
    if (row_.mixed) layers_ = listed_layers();
    if (layers_ == 0)
      layers_ = row_.decoder
                    ? reader_.required(layers, {"encoder_layers", "num_hidden_layers", "n_layer",
                                                "num_layers", "n_layers"})
                    : reader_.required(layers, {"num_hidden_layers", "n_layer", "num_layers",
                                                "n_layers", "encoder_layers"});
    model_.size_keys.layers =
        key_of(row_.decoder ? std::vector<std::string>{"encoder_layers", "num_hidden_layers",
                                                       "n_layer", "num_layers", "n_layers"}
                            : std::vector<std::string>{"num_hidden_layers", "n_layer", "num_layers",
                                                       "n_layers", "encoder_layers"});
    if (row_.groups) layers_ *= row_.groups->inner;
    decoder_layers_ =
        reader_.first_count({"num_decoder_layers", "decoder_layers"}).value_or(layers_);
  }

  // The number of layers by the list of their types, where the row's models have one; else 0.
  std::size_t listed_layers() const {
    for (const auto* keys : {&row_.mixed->types_keys, &row_.mixed->pattern_keys}) {
      const auto key = reader_.listed(*keys);
      if (!key) continue;
      const JsonValue& types = *reader_.find(*key);
      if (types.is(JsonValue::Type::array)) return types.size();
      if (types.is(JsonValue::Type::string)) return types.string().size();
    }
    return 0;
  }

  // Keys and values of each head are made of vectors that all heads share.
  void read_latent() {
    model_.latent = *row_.latent;
    model_.kv_heads = model_.heads;
    model_.head_width = model_.latent->shared + model_.latent->own;
    if (model_.latent->value == 0) model_.latent->value = model_.width / model_.heads;
    if (model_.latent->query_rank <= most_width) return;
    throw input_error(
        translated("the configuration asks for a size of {1}", model_.latent->query_rank), "",
        translated("no size of a model is beyond {1}", most_width));
  }

  // Rules that all layers share.
  void read_shared() {
    if (model_.fused == FusedLayout::four_parts && model_.heads % 4 != 0) {
      refuse_key(*reader_.listed({head_keys.begin(), head_keys.end()}),
                 translated("{1} heads cannot be stored in four parts of as many", model_.heads),
                 translated("the number of heads must be a multiple of 4"));
    }
    const double root = std::sqrt(static_cast<double>(model_.width));
    model_.tied = reader_.boolean("tie_word_embeddings").value_or(model_.tied);
    if (row_.embedding_scaled) model_.embedding_scale *= root;
    if (row_.logits_by_root_of_width) model_.logit_scale /= root;
    model_.logit_scale /= row_.logit_divisor;
    if (row_.logit_width)
      model_.logit_scale *= *row_.logit_width / static_cast<double>(model_.width);
    if (row_.branch_depth)
      model_.branch_scale *= *row_.branch_depth / std::sqrt(static_cast<double>(layers_));
    model_.pad_id = read_id("pad_token_id");
    model_.decoder_start_id = read_id("decoder_start_token_id");
    if (row_.stack.names && row_.stack.names->contains(WeightPurpose::global_query)) {
      model_.separator_id = read_id("sep_token_id");
    }
    const auto hidden = read_id("mask_token_id");
    if (hidden && row_.hides_tokens) model_.hidden = HiddenTokens{.id = *hidden};
  }

  std::optional<std::int64_t> read_id(const char* key) const {
    const JsonValue* value = reader_.find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is(JsonValue::Type::number) || !value->is_integer()) {
      refuse_type(key, *value, to_translate("a whole number"));
    }
    return value->integer();
  }

  void read_positions() {
    const auto table = reader_.first_count({"max_position_embeddings", "n_positions", "n_ctx"});
    if (model_.positions == ModelPositions::rotary) model_.made_for = table;
    if (row_.behind_padding) {
      model_.first_position = static_cast<std::size_t>(model_.pad_id.value_or(1) + 1);
      if (table && model_.positions == ModelPositions::learned) {
        model_.longest = *table > model_.first_position ? *table - model_.first_position : 0;
      }
    }
    if (model_.first_position > 1 << 20U) {
      refuse_key("pad_token_id",
                 translated("positions cannot begin at {1}",
                            static_cast<std::ptrdiff_t>(model_.first_position)),
                 translated("they begin after the id of the padding token"));
    }
    if (!row_.buckets) return;
    const ModelBuckets& buckets = model_.buckets;
    if (buckets.count < 4 || buckets.count > 65536 || buckets.max_distance <= buckets.count / 2) {
      throw input_error(translated("distances up to {1} cannot be put into {2} buckets",
                                   buckets.max_distance, buckets.count),
                        "/relative_attention_num_buckets",
                        translated("give at least 4, and a distance of more than half as many"));
    }
  }

  void check_streams() {
    constexpr std::size_t most = 64;
    if (model_.streams && (model_.streams->count == 0 || model_.streams->count > most ||
                           model_.streams->active >= model_.streams->count)) {
      refuse_key("altup_num_inputs",
                 translated("stream {1} of {2} cannot be the active one", model_.streams->active,
                            model_.streams->count),
                 translated("give between 1 and {1} streams, and one of them", most));
    }
    for (const double share : model_.gate_sparsity) {
      if (share >= 0 && share < 1) continue;
      refuse_key("activation_sparsity_pattern",
                 translated("a share of {1} gates", number_text(share)),
                 translated("give numbers of at least 0 and below 1"));
    }
  }

  void read_input_convolution() {
    if (!row_.input_convolution || row_.input_convolution->kernel == 0) return;
    model_.input_convolution = row_.input_convolution;
    const auto& [kernel, groups, activation] = *row_.input_convolution;
    if (kernel % 2 == 0 || kernel > most_width) {
      refuse_key("conv_kernel_size",
                 translated("a convolution of {1} tokens has no middle", kernel),
                 translated("give an odd number"));
    }
    if (model_.width % groups == 0) return;
    refuse_key("conv_groups",
               translated("{1} numbers cannot be in {2} groups", model_.width, groups),
               translated("the width of the states must be a multiple"));
  }

  void read_experts() {
    if (row_.experts) {
      model_.experts = *row_.experts;
      if (model_.experts->chosen == 0 || model_.experts->chosen > model_.experts->count) {
        refuse_key("num_experts_per_tok",
                   translated("each token takes {1} of {2} experts", model_.experts->chosen,
                              model_.experts->count),
                   translated("from one to all of them can be used"));
      }
      check_groups(*model_.experts);
    } else if (const auto other = reader_.first_count({"num_local_experts", "num_experts"});
               other && *other > 1) {
      refuse_key("num_local_experts",
                 translated("feed-forwards that choose among experts are not computed"),
                 translated("families that have experts, such as mixtral, have rows of their own"));
    }
  }

  static void check_groups(const ExpertRules& rules) {
    const std::size_t size = rules.groups == 0 ? 0 : rules.count / rules.groups;
    if (size * rules.groups == rules.count && rules.best_groups > 0 &&
        rules.best_groups <= rules.groups && size * rules.best_groups >= rules.chosen) {
      return;
    }
    refuse_key("n_group",
               translated("{1} experts cannot be chosen from {2} of {3} groups of {4} experts",
                          rules.chosen, rules.best_groups, rules.groups, rules.count),
               translated("groups are of one size, and the best hold as many as a token takes"));
  }

  // Sizes that follow from others.
  void read_mixer() {
    if (const auto* delta = std::get_if<DeltaSizes>(&model_.mixer)) {
      if (delta->value_heads % delta->key_heads == 0) return;
      throw input_error(translated("{1} value heads cannot share {2} key heads", delta->value_heads,
                                   delta->key_heads),
                        "/linear_num_value_heads",
                        translated("the number of value heads must be a multiple"));
    }
    if (row_.mixed && std::holds_alternative<std::monostate>(model_.mixer)) {
      refuse_key("mixed_layers", translated("the row does not say what mixes tokens there"),
                 translated("give \"linear\", \"convolution\" or \"state_space\""));
    }
    auto* space = std::get_if<ModelStateSpace>(&model_.mixer);
    if (space == nullptr) return;
    if (!space->factors.empty() && space->factors.size() != 5) {
      throw input_error(
          translated("{1} factors of a state space, which has 5 parts", space->factors.size()),
          "/ssm_multipliers", translated("give gate, x, B, C and steps one each"));
    }
    const std::size_t whole = space->whole_width(model_.width);
    if (space->rank_by_width) space->rank = (model_.width + 15) / 16;
    if (space->rank > 0) {
      space->heads = whole;
      space->width = 1;
      return;
    }
    space->width = whole / space->heads;
    if (whole == space->inner() && space->groups > 0 && space->heads % space->groups == 0) return;
    throw input_error(translated("{1} heads of a state space, {2} numbers together, cannot be in "
                                 "{3} groups",
                                 space->heads, whole, space->groups),
                      "", translated("both must be multiples"));
  }

  void read_vision() {
    if (!row_.vision) return;
    const auto size = [&](const char* key) {
      const std::size_t found = reader_.required(key, {key});
      if (found > most_width) {
        refuse_key(key, translated("the configuration asks for a size of {1}", found),
                   translated("no size of a model is beyond {1}", most_width));
      }
      return found;
    };
    if (reader_.count("num_channels").value_or(3) != 3) {
      refuse_key("num_channels", translated("pictures of other than 3 channels are not computed"),
                 translated("choose another model"));
    }
    model_.vision = *row_.vision;
    model_.vision->patch = size("patch_size");
    const auto patches = static_cast<double>(row_.vision->patches);
    model_.vision->side = patches > 0 ? static_cast<std::size_t>(std::sqrt(patches))
                                      : size("image_size") / model_.vision->patch;
    if (model_.positions != ModelPositions::patch_rotary || model_.head_width % 4 == 0) return;
    refuse_key("num_attention_heads",
               translated("heads of {1} columns cannot be rotated by rows and by columns",
                          model_.head_width),
               translated("their width must be a multiple of 4"));
  }

  LayerRules layers() { return {reader_, model_}; }

  void read_stacks() {
    if (row_.encoder && encoder_alone(config_)) {
      model_.head = {};
      model_.stacks.push_back(layers().stack(*row_.encoder, false, false, layers_));
      return;
    }
    if (row_.decoder && decoder_alone(config_)) {
      ModelStack only = layers().stack(*row_.decoder, true, false, decoder_layers_);
      take_cross_attention(only);
      model_.sound.reset();
      model_.stacks.push_back(std::move(only));
      return;
    }
    if (row_.encoder && row_.decoder) {
      model_.stacks.push_back(layers().stack(*row_.encoder, false, false, layers_));
      model_.stacks.push_back(layers().stack(*row_.decoder, true, true, decoder_layers_));
      return;
    }
    // A BERT that is a decoder sees what is before; a decoder may be let see both sides.
    const bool causal = (row_.causal || reader_.boolean("is_decoder").value_or(false)) &&
                        reader_.boolean("is_causal").value_or(true);
    ModelStack only = layers().stack(row_.stack, causal, false, layers_);
    if (!row_.norms_first) put_norms_last(only.names);
    model_.stacks.push_back(std::move(only));
  }

  // Files have the tensors of the cross-attention even where nothing reads them.
  static void take_cross_attention(ModelStack& decoder) {
    using enum WeightPurpose;
    for (const WeightPurpose purpose : {cross_query, cross_key, cross_value, cross_output,
                                        before_cross, after_cross, after_cross_sum}) {
      auto own = decoder.names.extract(purpose);
      if (own) decoder.left_out.insert(std::move(own));
    }
  }

  // Norms behind the residuals in place of norms before the sub-layers.
  static void put_norms_last(TensorNames& names) {
    using enum WeightPurpose;
    for (const auto& [before, after] : {std::pair(before_attention, after_attention_sum),
                                        std::pair(before_feed_forward, after_feed_forward_sum)}) {
      auto own = names.extract(before);
      if (!own) continue;
      own.key() = after;
      names.insert(std::move(own));
    }
    names.erase(final_norm);
  }

  const JsonValue& config_;
  const FamilyRow& row_;
  ConfigurationReader reader_;
  Architecture model_;
  std::size_t layers_ = 0, decoder_layers_ = 0;
};

// The configuration of one stack, with what is said of both beside them.
JsonValue part_of_stack(const JsonValue& config, const std::string& name) {
  const JsonValue* part = present_member(config, name);
  if (part == nullptr) {
    refuse_key(name, translated("the configuration does not describe the {1}", name),
               translated("use the configuration as published"));
  }
  if (!part->is(JsonValue::Type::object)) refuse_type(name, *part, to_translate("an object"));
  constexpr std::array<std::string_view, 2> of_both{"vocab_size", "tie_word_embeddings"};
  JsonValue::Object members;
  for (const JsonMember& own : part->members()) {
    if (std::ranges::count(of_both, own.key) == 0) members->push_back(own);
  }
  for (const std::string_view key : of_both) {
    const JsonValue* value = present_member(config, key);
    if (value == nullptr) value = present_member(*part, key);
    if (value != nullptr) members->push_back({std::string(key), *value});
  }
  return JsonValue{std::move(members)};
}

// Whether transformers wrote the configuration in version 5 or later.
bool written_since_5(const JsonValue& config) {
  const JsonValue* version = present_member(config, "transformers_version");
  if (version == nullptr || !version->is(JsonValue::Type::string)) return false;
  const std::string& text = version->string();
  const std::size_t dot = text.find('.');
  return dot != text.npos && (dot > 1 || text.front() >= '5');
}

// One stack of an encoder-decoder whose stacks are described apart, as a model by itself.
Architecture read_stack_apart(const JsonValue& config, const JsonValue& row, bool decoder,
                              const std::string& family) {
  const FamilyRow both = read_row(row, config);
  const RowStack& stack = decoder ? *both.decoder : *both.encoder;
  // A decoder that is not described is like the encoder.
  const bool described = present_member(config, stack.part) != nullptr;
  const JsonValue part = part_of_stack(config, described ? stack.part : both.encoder->part);
  FamilyRow own = read_row(row, part);
  own.encoder.reset();
  own.decoder.reset();
  own.causal = decoder;
  own.stack.prefix = stack.prefix;
  for (const auto& [purpose, names] : *stack.names) (*own.stack.names)[purpose] = names;
  if (!decoder) own.model.head = {};
  // Since version 5 windows on both sides reach a key further.
  if (own.window && written_since_5(config)) own.window->own_counted = false;
  refuse_unread(part, own);
  Architecture model = ArchitectureReader(part, own, family).read();
  model.stacks.front().crosses = own.causal;
  const auto start = ConfigurationReader(part, own).count("bos_token_id");
  if (start && !model.decoder_start_id) {
    model.decoder_start_id = static_cast<std::int64_t>(*start);
  }
  return model;
}

Architecture read_stacks_apart(const JsonValue& config, const JsonValue& row,
                               const std::string& family) {
  Architecture encoder = read_stack_apart(config, row, false, family);
  if (encoder_alone(config)) return encoder;
  Architecture model = read_stack_apart(config, row, true, family);
  model.stacks.insert(model.stacks.begin(), encoder.stacks.front());
  model.warnings.insert(model.warnings.end(), encoder.warnings.begin(), encoder.warnings.end());
  model.encoder = std::make_shared<const Architecture>(std::move(encoder));
  return model;
}

// The model of the texts that go with pictures, where the configuration has one.
void read_text_part(Architecture& model, const FamilyRow& row, const JsonValue& config) {
  const JsonValue* part = present_member(config, "text_config");
  if (row.vision->text.empty() || part == nullptr) return;
  if (!part->is(JsonValue::Type::object)) {
    refuse_type("text_config", *part, to_translate("an object"));
  }
  const FamilyRow texts = read_row(row_of_family(row.vision->text), *part);
  Architecture own = ArchitectureReader(*part, texts, row.vision->text).read();
  own.prefixes.emplace_back("");
  model.warnings.insert(model.warnings.end(), own.warnings.begin(), own.warnings.end());
  const auto end = ConfigurationReader(*part, texts).count("eos_token_id");
  if (end) model.vision->end_id = static_cast<std::int64_t>(*end);
  model.text = std::make_shared<const Architecture>(std::move(own));
}

// Follows or notes what transformers computes otherwise in the version that wrote the
// configuration.
void note_versions(Architecture& model, const JsonValue& config, const JsonValue& part) {
  const JsonValue* curve = present_member(part, "hidden_act");
  const bool named = curve != nullptr && curve->is(JsonValue::Type::string);
  // Since version 5 Gemma's is obeyed, but for the name that released files have by mistake.
  if (model.family == "gemma" && named && curve->string() != "gelu" && written_since_5(config)) {
    model.activation = activation_of(curve->string(), "/hidden_act");
  }
  const auto& layers = model.stacks.front().layers;
  if (std::holds_alternative<DeltaSizes>(model.mixer) &&
      std::ranges::any_of(layers, &ModelLayer::mixes) && model.activation != Activation::silu) {
    model.warnings.push_back(
        translated("the convolutions of linear attention are followed by SiLU, as in transformers "
                   "5.10; 5.24 takes \"hidden_act\" there"));
  }
  if (family_of(config) == "aya_vision" && model.logit_scale != 1) {
    model.warnings.push_back(
        translated("logits are multiplied by \"logit_scale\", as the model of texts does alone; "
                   "transformers since 4.52 leaves that out beside pictures"));
  }
  const JsonValue* rope = present_member(part, "rope_parameters");
  const JsonValue* scaling = rope != nullptr ? rope : present_member(part, "rope_scaling");
  if (model.family == "phimoe" && scaling != nullptr && present_member(*scaling, "long_factor")) {
    model.warnings.push_back(
        translated("texts beyond \"original_max_position_embeddings\" are rotated by "
                   "\"long_factor\", as in training; transformers 5.24 takes \"short_factor\""));
  }
  if (model.family == "cohere" && present_member(config, "transformers_version") != nullptr &&
      !written_since_5(config) && present_member(part, "rope_theta") == nullptr &&
      (rope == nullptr || present_member(*rope, "rope_theta") == nullptr)) {
    model.warnings.push_back(
        translated("there is no \"rope_theta\", which means 500000, as in transformers 5; in 4, "
                   "which wrote the configuration, it meant 10000"));
  }
  const JsonValue* share =
      rope == nullptr ? nullptr : present_member(*rope, "partial_rotary_factor");
  if (share == nullptr || is_neutral(*share, 1) || !written_since_5(config)) return;
  const JsonValue* type = present_member(*rope, "rope_type");
  if (type != nullptr && !same_value(*type, JsonValue{std::string("default")})) return;
  constexpr std::array<std::string_view, 9> in_parts{"phi",      "stablelm",  "gpt_neox",
                                                     "glm4",     "qwen3_",    "nomic_bert",
                                                     "nemotron", "persimmon", "minimax_m2"};
  if (model.family == "glm" || std::ranges::any_of(in_parts, [&](std::string_view family) {
        return model.family.starts_with(family) && model.family != "qwen3_moe";
      })) {
    return;
  }
  model.warnings.push_back(translated(
      "\"partial_rotary_factor\" leaves columns of heads as they are, as in transformers "
      "4; 5 turns all of them in models of this type"));
}

}  // namespace

Architecture Architecture::at(const ModelLayer& layer) const {
  Architecture own = *this;
  own.width = layer.width;
  own.heads = layer.heads;
  own.kv_heads = layer.kv_heads;
  own.head_width = layer.head_width;
  return own;
}

Architecture read_architecture(const JsonValue& config, const JsonValue* row) {
  if (!config.is(JsonValue::Type::object)) {
    throw input_error(
        translated("the configuration is {1}, not an object", translated(type_text(config))), "",
        translated("this is not the config.json of a model"));
  }
  refuse_unsupported(config);
  const JsonValue& part = main_part(config);
  refuse_unsupported(part);
  const bool pictures = reads_pictures(family_of(config));
  const std::string family = family_of(pictures ? config : part);
  if (row != nullptr) read_row(*row);
  JsonValue complete = row_of(pictures ? config : part, row);
  if (&part != &config && !pictures) complete = with_part_sizes(complete, part);
  FamilyRow own = read_row(complete, part);
  // What the whole model says of tying counts before what its part says.
  const auto tied = ConfigurationReader(config, own).boolean("tie_word_embeddings");
  refuse_unread(config, own);
  refuse_unread(part, own);
  const std::string name = family.empty() ? "own row" : family;
  const bool apart = own.encoder && own.decoder && !own.encoder->part.empty();
  Architecture model =
      apart ? read_stacks_apart(part, complete, name) : ArchitectureReader(part, own, name).read();
  model.part_tied = model.tied && !tied.value_or(true);
  model.tied = tied.value_or(model.tied);
  // The first models of pictures and texts describe their texts beside "vision_config".
  model.is_part =
      !pictures && (&part != &config || present_member(config, "vision_config") != nullptr);
  if (model.is_part) {
    for (const char* prefix : {"language_model.model.", "model.language_model."}) {
      model.prefixes.emplace_back(prefix);
    }
  }
  model.prefixes.emplace_back("");
  for (std::string& warning : keys_of_others(part, own, name)) {
    model.warnings.push_back(std::move(warning));
  }
  note_versions(model, config, part);
  take_head_away(model, config);
  // A classifier of pictures has no model of texts.
  if (model.vision && model.headless_class.ends_with("Classification")) return model;
  if (model.vision) read_text_part(model, own, config);
  return model;
}

}  // namespace attn
