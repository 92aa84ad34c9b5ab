#include "models/architecture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "models/configuration_reader.hpp"
#include "models/family_row.hpp"
#include "models/library_keys.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

void expect_numbers(const std::string& key, const JsonValue& list) {
  constexpr const char* wanted = to_translate("a list of numbers");
  if (!list.is(JsonValue::Type::array)) refuse_type(key, list, wanted);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list.element(i).is(JsonValue::Type::number)) refuse_type(key, list.element(i), wanted);
  }
}

// Keys of the number of query heads.
constexpr std::initializer_list<const char*> head_keys{
    "num_attention_heads",     "n_head",         "num_heads", "n_heads",
    "encoder_attention_heads", "attention_heads"};

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

constexpr std::size_t most_layers = 10'000;  // no released model has more

/// Fills an Architecture from a configuration, part by part, by the row of its family.
class ArchitectureReader {
 public:
  ArchitectureReader(const JsonValue& config, const FamilyRow& row, std::string family)
      : config_(config), row_(row), reader_(config, row) {
    model_.family = std::move(family);
  }

  Architecture read() {
    read_sizes();
    read_shared();
    read_positions();
    read_disentangled(reader_, model_);
    read_feed_forward();
    read_linear();
    read_head();
    read_stacks();
    read_vision();
    return std::move(model_);
  }

 private:
  void read_sizes() {
    model_.width =
        reader_.required("width", {"hidden_size", "n_embd", "n_embed", "d_model", "dim"});
    model_.heads = reader_.required(translated("number of heads"), head_keys);
    model_.kv_heads = reader_.first_count({"num_key_value_heads"}).value_or(model_.heads);
    if (const auto own = reader_.value(row_.kv_heads)) model_.kv_heads = *own;
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
    model_.vocabulary = reader_.first_count({"vocab_size"}).value_or(0);
    // The "num_hidden_layers" of a distilled BART may be that of the model it comes from.
    const std::string layers = translated("number of layers");
    layers_ = row_.decoder ? reader_.required(layers, {"encoder_layers", "num_hidden_layers",
                                                       "n_layer", "num_layers", "n_layers"})
                           : reader_.required(layers, {"num_hidden_layers", "n_layer", "num_layers",
                                                       "n_layers", "encoder_layers"});
    decoder_layers_ =
        reader_.first_count({"num_decoder_layers", "decoder_layers"}).value_or(layers_);
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

  // Rules that all layers share.
  void read_shared() {
    model_.norm = row_.norm.kind;
    model_.norm_weights_from_one = row_.norm.weights_from_one;
    model_.norms_bare = row_.norm.bare;
    model_.eps = reader_.value(row_.eps).value_or(1e-5);
    if (const auto key = reader_.listed(row_.eps.keys); key && model_.eps != 0) {
      positive(*key, model_.eps);
    }
    model_.activation = read_activation(reader_, row_.activation);
    model_.positions = row_.positions;
    model_.parallel = reader_.value(row_.parallel).value_or(false);
    model_.residual_after_norm = reader_.value(row_.residual_after_norm).value_or(false);
    model_.whole_width_norms = row_.whole_width_norms;
    model_.norms_by_head = row_.norms_by_head;
    model_.norms_after_rotary = row_.norms_after_rotary;
    model_.clip = reader_.positive_number(row_.clip);
    model_.stored_transposed = row_.stored_transposed;
    model_.rows_in_pairs = row_.rows_in_pairs;
    model_.fused = row_.fused;
    if (model_.fused == FusedLayout::four_parts && model_.heads % 4 != 0) {
      refuse_key(*reader_.listed({head_keys.begin(), head_keys.end()}),
                 translated("{1} heads cannot be stored in four parts of as many", model_.heads),
                 translated("the number of heads must be a multiple of 4"));
    }
    model_.gated_queries = row_.gated_queries;
    model_.alibi_scaled = row_.alibi_scaled;
    model_.alibi_odd_first = row_.alibi_odd_first;
    model_.optional = row_.optional;
    read_biases();
    model_.softcap = read_softcap(row_.softcap);
    model_.logit_softcap = read_softcap(row_.logit_softcap);
    const double root = std::sqrt(static_cast<double>(model_.width));
    model_.tied = reader_.boolean("tie_word_embeddings").value_or(row_.tied);
    if (reader_.value(row_.logits_by_root_of_width).value_or(false)) model_.logit_scale = 1 / root;
    const auto scaled = reader_.listed(row_.embedding_scale_keys);
    if (row_.embedding_scaled || (scaled && *reader_.boolean(*scaled))) {
      model_.embedding_scale = root;
    }
    model_.embedding_scale *= reader_.positive_number(row_.embedding_multiplier).value_or(1);
    model_.branch_scale = reader_.positive_number(row_.branch_multiplier).value_or(1);
    model_.logit_scale *= reader_.positive_number(row_.logit_multiplier).value_or(1) /
                          reader_.positive_number(row_.logit_divisor).value_or(1);
    model_.pad_id = read_id("pad_token_id");
    model_.decoder_start_id = read_id("decoder_start_token_id");
    const auto hidden = read_id("mask_token_id");
    if (hidden && reader_.value(row_.hides_tokens).value_or(false)) {
      model_.hidden = HiddenTokens{.id = *hidden};
    }
  }

  void read_biases() {
    if (!row_.biases) return;
    model_.biases.emplace();
    for (const auto& [key, purposes] : *row_.biases) {
      ModelBias bias{key == "always" ? "" : key, true};
      if (!bias.key.empty()) bias.there = reader_.boolean(key);
      for (const WeightPurpose purpose : purposes) model_.biases->insert_or_assign(purpose, bias);
    }
  }

  std::optional<double> read_softcap(const RowValue<double>& of) const {
    if (reader_.given_as_null(of.keys)) return std::nullopt;
    return reader_.positive_number(of);
  }

  std::optional<std::int64_t> read_id(const char* key) const {
    const JsonValue* value = reader_.find(key);
    if (value == nullptr || !value->is(JsonValue::Type::number) || !value->is_integer()) {
      return std::nullopt;
    }
    return value->integer();
  }

  void read_positions() {
    const auto table = reader_.first_count({"max_position_embeddings", "n_positions", "n_ctx"});
    if (model_.positions == ModelPositions::rotary) model_.made_for = table;
    if (const auto& offset = row_.position_offset) {
      model_.first_position = offset->behind_padding
                                  ? static_cast<std::size_t>(model_.pad_id.value_or(1) + 1)
                                  : offset->count;
      if (offset->behind_padding && table && model_.positions == ModelPositions::learned) {
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
    ModelBuckets& buckets = model_.buckets;
    buckets.count = reader_.value(row_.buckets->count).value_or(32);
    buckets.max_distance = reader_.value(row_.buckets->distance).value_or(128);
    if (buckets.count < 4 || buckets.count > 65536 || buckets.max_distance <= buckets.count / 2) {
      throw input_error(translated("distances up to {1} cannot be put into {2} buckets",
                                   buckets.max_distance, buckets.count),
                        "/relative_attention_num_buckets",
                        translated("give at least 4, and a distance of more than half as many"));
    }
  }

  void read_feed_forward() {
    if (const auto key = reader_.listed(row_.feed_forward_keys)) {
      std::string name = *reader_.text(*key);
      constexpr std::string_view gated = "gated-";
      const bool has_gate = name.starts_with(gated);
      if (has_gate) name.erase(0, gated.size());
      // "gated-gelu" has always meant the approximation.
      model_.activation = activation_of(has_gate && name == "gelu" ? "gelu_new" : name, *key);
    }
    if (row_.experts) {
      ModelExperts own;
      own.count = reader_.value(row_.experts->count).value_or(0);
      own.chosen = reader_.value(row_.experts->chosen).value_or(0);
      own.limit = reader_.value(row_.experts->limit);
      if (!reader_.value(row_.experts->normalised).value_or(true)) own.shares = ShareRule::of_all;
      if (const auto jitter = reader_.value(row_.experts->jitter)) {
        own.shares = ShareRule::of_near;
        own.nearness = 2 * *jitter;
      }
      if (own.chosen == 0 || own.chosen > own.count) {
        refuse_key("num_experts_per_tok",
                   translated("each token takes {1} of {2} experts", own.chosen, own.count),
                   translated("from one to all of them can be used"));
      }
      model_.experts = own;
    } else if (const auto other = reader_.first_count({"num_local_experts", "num_experts"});
               other && *other > 1) {
      refuse_key("num_local_experts",
                 translated("feed-forwards that choose among experts are not computed"),
                 translated("families that have experts, such as mixtral, have rows of their own"));
    }
  }

  // Pointer to the first of the keys that is there; empty = the row itself gives the value.
  std::string place_of(const std::vector<std::string>& keys) const {
    const auto key = reader_.listed(keys);
    return key ? pointer_to("", *key) : "";
  }

  void read_linear() {
    if (!row_.linear) return;
    DeltaSizes& sizes = model_.delta;
    for (const auto& [of, to] : {std::pair(&row_.linear->key_heads, &sizes.key_heads),
                                 std::pair(&row_.linear->value_heads, &sizes.value_heads),
                                 std::pair(&row_.linear->key_width, &sizes.key_width),
                                 std::pair(&row_.linear->value_width, &sizes.value_width),
                                 std::pair(&row_.linear->kernel, &sizes.kernel)}) {
      *to = reader_.value(*of).value_or(*to);
      if (*to > 0 && *to <= most_width) continue;
      throw input_error(translated("the configuration asks for a size of {1}", *to),
                        place_of(of->keys), translated("sizes are from 1 to {1}", most_width));
    }
    if (sizes.value_heads % sizes.key_heads != 0) {
      throw input_error(translated("{1} value heads cannot share {2} key heads", sizes.value_heads,
                                   sizes.key_heads),
                        place_of(row_.linear->value_heads.keys),
                        translated("the number of value heads must be a multiple"));
    }
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
    VisionPart own;
    own.patch = size("patch_size");
    own.side = size("image_size") / own.patch;
    own.registers = reader_.value(row_.vision->registers).value_or(0);
    own.antialiased = row_.vision->antialiased;
    own.processor = row_.vision->processor;
    own.projection = row_.vision->projection;
    own.text_projection = row_.vision->text_projection;
    own.last_token = row_.vision->last_token;
    model_.vision = std::move(own);
  }

  void read_head() {
    if (!row_.head) return;
    model_.head = {row_.head->dense, row_.head->norm, row_.head->weight, row_.head->bias, {}};
    if (row_.head->activation.own) {
      model_.head.activation = read_activation(reader_, row_.head->activation);
    }
  }

  void read_stacks() {
    model_.prefixes = row_.prefixes;
    if (row_.encoder && encoder_alone(config_)) {
      model_.head = {};
      model_.stacks.push_back(stack(*row_.encoder, false, false, layers_));
      return;
    }
    if (row_.encoder && row_.decoder) {
      model_.stacks.push_back(stack(*row_.encoder, false, false, layers_));
      model_.stacks.push_back(stack(*row_.decoder, true, true, decoder_layers_));
      return;
    }
    // A BERT that is a decoder sees what is before; a decoder may be let see both sides.
    const bool causal = (row_.causal || reader_.boolean("is_decoder").value_or(false)) &&
                        reader_.boolean("is_causal").value_or(true);
    ModelStack only = stack(row_.stack, causal, false, layers_);
    const auto norm_first = reader_.listed(row_.norm_first_keys);
    if (norm_first && !*reader_.boolean(*norm_first)) put_norms_last(only.names);
    model_.stacks.push_back(std::move(only));
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

  ModelStack stack(const RowStack& part, bool causal, bool crosses, std::size_t count) {
    if (!part.names) refuse_key("names", translated("the row names no tensors"), "give \"names\"");
    ModelStack own;
    own.prefix = part.prefix;
    own.causal = causal;
    own.crosses = crosses;
    own.names = *part.names;
    std::optional<RotaryReader> rotary;
    if (model_.positions == ModelPositions::rotary) {
      rotary.emplace(reader_, model_.head_width);
      const std::vector<std::string>& own_warnings = rotary->warnings();
      model_.warnings.insert(model_.warnings.end(), own_warnings.begin(), own_warnings.end());
    }
    const LayerTypeReader types(reader_, causal, count);
    if (causal && types.both_ways()) own.causal = false;
    const auto zero_key = reader_.listed(row_.rotary.off_where_zero_keys);
    const JsonValue* zero = zero_key ? reader_.find(*zero_key) : nullptr;
    if (zero != nullptr) expect_numbers(*zero_key, *zero);
    const std::size_t off_every = reader_.value(row_.rotary.off_every).value_or(0);
    const auto dense_key = row_.experts ? reader_.listed(row_.experts->dense_keys) : std::nullopt;
    const JsonValue* dense = dense_key ? reader_.find(*dense_key) : nullptr;
    if (dense != nullptr) expect_numbers(*dense_key, *dense);
    const double scale = read_scale();
    const bool by_layer = reader_.boolean("scale_attn_by_inverse_layer_idx").value_or(false);
    for (std::size_t n = 0; n < count; ++n) {
      ModelLayer layer;
      layer.scale = by_layer ? scale / static_cast<double>(n + 1) : scale;
      const bool turned = zero != nullptr && n < zero->size() ? zero->element(n).number() != 0
                          : off_every > 0                     ? (n + 1) % off_every != 0
                                                              : true;
      layer.linear = types.is_linear(n);
      layer.window = types.window_of(n, turned);
      const bool off =
          layer.linear || (!layer.window && (row_.rotary.off_in_full_layers ||
                                             (row_.rotary.off_beside_windows && types.size())));
      if (rotary && turned && !off) layer.rotary = rotary->read(layer.window.has_value());
      layer.experts = row_.experts && chooses(n, dense);
      own.layers.push_back(std::move(layer));
    }
    return own;
  }

  // Whether a layer of a model with experts has them; `dense` lists layers that have none.
  bool chooses(std::size_t n, const JsonValue* dense) const {
    for (std::size_t i = 0; dense != nullptr && i < dense->size(); ++i) {
      if (dense->element(i).number() == static_cast<double>(n)) return false;
    }
    return (n + 1) % std::max<std::size_t>(reader_.value(row_.experts->every).value_or(1), 1) == 0;
  }

  // The factor of the scores in the first layer.
  double read_scale() const {
    const auto scale_of = reader_.positive_number(row_.scale_of);
    if (!reader_.boolean("scale_attn_weights").value_or(true)) return 1;
    if (const auto own = reader_.positive_number(row_.score_multiplier)) return *own;
    const double width = scale_of.value_or(static_cast<double>(model_.head_width));
    return row_.scale.value_or(1 / std::sqrt(width * static_cast<double>(model_.score_terms)));
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

// One stack of an encoder-decoder whose stacks are described apart, as a model by itself.
Architecture read_stack_apart(const JsonValue& config, const FamilyRow& row, const RowStack& stack,
                              const std::string& family) {
  FamilyRow own = row;
  own.encoder.reset();
  own.decoder.reset();
  own.causal = &stack == &*row.decoder;
  own.stack.prefix = stack.prefix;
  for (const auto& [purpose, names] : *stack.names) (*own.stack.names)[purpose] = names;
  if (!own.causal) own.head.reset();
  // A decoder that is not described is like the encoder.
  const bool described = present_member(config, stack.part) != nullptr;
  const JsonValue part = part_of_stack(config, described ? stack.part : row.encoder->part);
  refuse_unread(part, own);
  Architecture model = ArchitectureReader(part, own, family).read();
  model.stacks.front().crosses = own.causal;
  const auto start = ConfigurationReader(part, own).count("bos_token_id");
  if (start && !model.decoder_start_id) {
    model.decoder_start_id = static_cast<std::int64_t>(*start);
  }
  return model;
}

Architecture read_stacks_apart(const JsonValue& config, const FamilyRow& row,
                               const std::string& family) {
  Architecture encoder = read_stack_apart(config, row, *row.encoder, family);
  if (encoder_alone(config)) return encoder;
  Architecture model = read_stack_apart(config, row, *row.decoder, family);
  model.stacks.insert(model.stacks.begin(), encoder.stacks.front());
  model.warnings.insert(model.warnings.end(), encoder.warnings.begin(), encoder.warnings.end());
  model.encoder.push_back(std::move(encoder));
  return model;
}

// The model of the texts that go with pictures, where the configuration has one.
void read_text_part(Architecture& model, const FamilyRow& row, const JsonValue& config) {
  const JsonValue* part = present_member(config, "text_config");
  if (row.vision->text.empty() || part == nullptr) return;
  if (!part->is(JsonValue::Type::object)) {
    refuse_type("text_config", *part, to_translate("an object"));
  }
  const FamilyRow texts = read_row(row_of_family(row.vision->text));
  Architecture& own =
      model.text.emplace_back(ArchitectureReader(*part, texts, row.vision->text).read());
  own.prefixes.emplace_back("");
  model.warnings.insert(model.warnings.end(), own.warnings.begin(), own.warnings.end());
  const auto end = ConfigurationReader(*part, texts).count("eos_token_id");
  if (end) model.vision->end_id = static_cast<std::int64_t>(*end);
}

}  // namespace

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
  FamilyRow own = read_row(complete);
  // The whole model may tie what its part does not; else its word counts where that says nothing.
  const auto tied = ConfigurationReader(config, own).boolean("tie_word_embeddings");
  own.tied = tied.value_or(own.tied);
  refuse_unread(config, own);
  refuse_unread(part, own);
  const std::string name = family.empty() ? "own row" : family;
  const bool apart = own.encoder && own.decoder && !own.encoder->part.empty();
  Architecture model =
      apart ? read_stacks_apart(part, own, name) : ArchitectureReader(part, own, name).read();
  model.tied = model.tied || tied.value_or(false);
  model.is_part = &part != &config && !pictures;
  if (model.is_part) {
    for (const char* prefix : {"language_model.model.", "model.language_model."}) {
      model.prefixes.emplace_back(prefix);
    }
  }
  model.prefixes.emplace_back("");
  if (model.vision) read_text_part(model, own, config);
  return model;
}

}  // namespace attn
