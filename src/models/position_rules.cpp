#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "models/configuration_reader.hpp"
#include "models/library_keys.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::optional<double> number_in(const ConfigurationPart& part, const char* key) {
  const JsonValue* value = present_member(part.object, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is(JsonValue::Type::number)) {
    refuse_type(key, *value, to_translate("a number"), part.place);
  }
  return value->number();
}

double number_or(const ConfigurationPart& part, const char* key, double otherwise) {
  return number_in(part, key).value_or(otherwise);
}

double needed(const ConfigurationPart& scaling, const char* key) {
  if (const auto number = number_in(scaling, key)) return positive(key, *number, scaling.place);
  throw input_error(translated("the scaling of positions has no number \"{1}\"", key),
                    scaling.place, translated("the configuration is not complete"));
}

std::vector<double> factors(const ConfigurationPart& scaling, const char* key, std::size_t pairs) {
  const JsonValue* list = present_member(scaling.object, key);
  if (list == nullptr || !list->is(JsonValue::Type::array) || list->size() != pairs) {
    throw input_error(translated("the scaling of positions needs {1} numbers in \"{2}\", one per "
                                 "pair of rotated columns",
                                 pairs, key),
                      scaling.place, translated("the configuration is not complete"));
  }
  std::vector<double> numbers;
  for (std::size_t i = 0; i < pairs; ++i) {
    const JsonValue& factor = list->element(i);
    if (!factor.is(JsonValue::Type::number)) {
      refuse_type(key, factor, to_translate("a number"), scaling.place);
    }
    numbers.push_back(positive(key, factor.number(), scaling.place));
  }
  return numbers;
}

// Whether some pairs of the columns of a whole head turn and others do not (Gemma 4).
bool is_proportional(const ConfigurationPart& scaling) {
  const JsonValue* type = present_member(scaling.object, "rope_type");
  return type != nullptr && same_value(*type, JsonValue{std::string("proportional")});
}

// Names in a list, or in a text with | between them.
std::vector<std::string> joined_names(const ConfigurationReader& reader,
                                      const std::vector<std::string>& keys) {
  std::vector<std::string> names;
  const auto key = reader.listed(keys);
  if (!key) return names;
  const JsonValue& value = *reader.find(*key);
  constexpr const char* wanted = to_translate("a list of names");
  if (value.is(JsonValue::Type::array)) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!value.element(i).is(JsonValue::Type::string)) {
        refuse_type(*key, value.element(i), wanted);
      }
    }
    return strings_of(value);
  }
  if (!value.is(JsonValue::Type::string)) refuse_type(*key, value, wanted);
  for (const char c : value.string()) {
    if (names.empty() || c == '|') names.emplace_back();
    if (c != '|' && c != ' ') names.back() += c;
  }
  return names;
}

}  // namespace

RotaryReader::RotaryReader(const ConfigurationReader& reader, std::size_t head_width)
    : reader_(reader), row_(reader.row().rotary) {
  longest_ = reader.first_count({"max_position_embeddings", "n_positions", "n_ctx"}).value_or(0);
  const JsonValue* both = reader.find("rope_parameters");
  if (both != nullptr && !both->is(JsonValue::Type::object)) {
    refuse_type("rope_parameters", *both, translated("an object"));
  }
  for (const char* kind : {"full_attention", "sliding_attention"}) {
    if (both != nullptr && present_member(*both, kind) != nullptr) by_kind_ = true;
  }
  double share = row_.share;
  if (const auto flat = parameters(false); flat && !is_proportional(*flat)) {
    share = number_or(*flat, "partial_rotary_factor", share);
  }
  width_ = size_of_number(static_cast<double>(head_width) * share);
  if (row_.width) width_ = *row_.width;
  if (width_ == 0 || width_ % 2 != 0 || width_ > head_width) {
    throw input_error(
        translated("{2} columns of heads {1} wide cannot be rotated", head_width, width_), "",
        translated("an even number up to the width of a head can"));
  }
  const JsonValue* old = reader.find("rope_scaling");
  if (old != nullptr && old->is(JsonValue::Type::object)) note_unknown({*old, "/rope_scaling"});
  if (const auto full = parameters(false)) note_unknown(*full);
  if (const auto windowed = by_kind_ ? parameters(true) : std::nullopt) note_unknown(*windowed);
  note_versions();
}

// Warns of settings that files of version 5 have and its code passes over: by them a text would be
// turned otherwise.
void RotaryReader::note_versions() {
  const auto full = parameters(false);
  if (!full) return;
  if (by_kind_ && present_member(full->object, "truncate") != nullptr) {
    warnings_.push_back(translated(
        "\"truncate\" counts within {1}; transformers 5.24 looks for it beside the kinds "
        "of layers",
        in_quotes(full->place.substr(1))));
  }
}

void RotaryReader::note_unknown(const ConfigurationPart& part) {
  std::string names;
  const bool grows = reader_.row().growth.has_value();
  for (const std::string& key : unknown_rope_keys(part.object, part.place, grows)) {
    names += (names.empty() ? "" : name_separator()) + in_quotes(key);
  }
  if (names.empty()) return;
  warnings_.push_back(
      translated("members of {1} in the configuration are not known and change "
                 "nothing: {2}",
                 in_quotes(part.place.substr(1)), names));
}

Rotary RotaryReader::read(bool window) const {
  Rotary rotary;
  rotary.width = width_;
  rotary.interleaved = row_.interleaved;
  const bool own_theta = window && row_.window_theta;
  rotary.theta = own_theta && !row_.window_theta_is_null ? *row_.window_theta : row_.theta;
  std::optional<ConfigurationPart> scaling;
  const JsonValue* found = reader_.find("rope_scaling");
  if (found != nullptr && !(window && row_.scaling_of_full_layers_alone)) {
    if (!found->is(JsonValue::Type::object)) {
      refuse_type("rope_scaling", *found, to_translate("an object"));
    }
    scaling.emplace(ConfigurationPart{*found, "/rope_scaling"});
  }
  std::string part_of_theta;
  if (const auto own = parameters(window)) {
    if (const auto theta = number_in(*own, "rope_theta")) {
      rotary.theta = positive("rope_theta", *theta, own->place);
      part_of_theta = own->place;
    }
    if (!(window && own_theta && !by_kind_)) scaling.emplace(*own);
  }
  if (!scaling) return rotary;
  rotary.scaling = read_scaling(*scaling);
  if (rotary.theta == 1 && std::holds_alternative<YarnScaling>(rotary.scaling)) {
    throw input_error(translated("YaRN has no meaning where all columns turn alike"),
                      pointer_to(part_of_theta, "rope_theta"),
                      translated("give a \"rope_theta\" of more than 1"));
  }
  // An α in place of the length of the text (Hunyuan).
  const auto alpha = number_in(*scaling, "alpha");
  if (alpha && std::holds_alternative<DynamicScaling>(rotary.scaling)) {
    const auto width = static_cast<double>(width_);
    const double base = positive("alpha", *alpha, scaling->place);
    // A single pair turns by one radian a position, whatever θ is.
    if (width_ > 2) rotary.theta *= std::pow(base, width / (width - 2));
    rotary.scaling = {};
  }
  return rotary;
}

std::optional<QueryGrowth> RotaryReader::growth() const {
  const auto own = parameters(false);
  if (!own || !number_in(*own, "llama_4_scaling_beta")) return std::nullopt;
  return QueryGrowth{.scale = *number_in(*own, "llama_4_scaling_beta"), .length = original(*own)};
}

// The object that newest configurations have for all layers, or for those with and without a
// window.
std::optional<ConfigurationPart> RotaryReader::parameters(bool window) const {
  const std::string place = "/rope_parameters";
  const JsonValue* both = reader_.find("rope_parameters");
  if (both == nullptr) return std::nullopt;
  if (!by_kind_) return ConfigurationPart{*both, place};
  const char* kind = window ? "sliding_attention" : "full_attention";
  const JsonValue* own = present_member(*both, kind);
  if (own == nullptr) return std::nullopt;
  if (!own->is(JsonValue::Type::object)) refuse_type(kind, *own, to_translate("an object"), place);
  return ConfigurationPart{*own, pointer_to(place, kind)};
}

double RotaryReader::original(const ConfigurationPart& scaling) const {
  const char* key = "original_max_position_embeddings";
  if (const auto own = number_in(scaling, key)) return positive(key, *own, scaling.place);
  return positive(key, reader_.number(key).value_or(static_cast<double>(longest_)));
}

RotaryScaling RotaryReader::read_scaling(const ConfigurationPart& scaling) const {
  const char* key = "rope_type";
  if (present_member(scaling.object, key) == nullptr) key = "type";
  const JsonValue* name = present_member(scaling.object, key);
  if (name == nullptr) {
    if (present_member(scaling.object, "factor") == nullptr) return {};
    throw input_error(translated("the scaling of positions has no type"), scaling.place,
                      translated("the configuration is not complete"));
  }
  if (!name->is(JsonValue::Type::string)) {
    refuse_type(key, *name, to_translate("the name of a type"), scaling.place);
  }
  const std::string& type = name->string();
  // Positions of texts are the same on all axes (Qwen2-VL).
  if (type == "default" || type == "mrope") return {};
  if (type == "proportional") {
    // A factor beyond all positions stands for pairs that do not turn.
    constexpr double unturned = 0x1p1000;
    const double share = number_or(scaling, "partial_rotary_factor", 1);
    const std::size_t turned = size_of_number(share * static_cast<double>(width_)) / 2;
    LongScaling pairs;
    pairs.original = 1;
    pairs.short_factors.assign(width_ / 2, unturned);
    std::fill_n(pairs.short_factors.begin(), std::min(turned, width_ / 2),
                number_or(scaling, "factor", 1));
    pairs.long_factors = pairs.short_factors;
    return pairs;
  }
  if (type == "linear") return LinearScaling{needed(scaling, "factor")};
  if (type == "dynamic") {
    return DynamicScaling{needed(scaling, "factor"), static_cast<double>(longest_)};
  }
  if (type == "llama3") {
    return BandScaling{needed(scaling, "factor"), needed(scaling, "low_freq_factor"),
                       needed(scaling, "high_freq_factor"), original(scaling)};
  }
  // "yarn" with factors for short texts is what Phi-3 had before "su" and "longrope".
  if (type == "longrope" || type == "su" ||
      (type == "yarn" && scaling.object.find("short_factor") != nullptr)) {
    return long_scaling(scaling);
  }
  if (type == "yarn") {
    YarnScaling yarn{.factor = needed(scaling, "factor"), .original = original(scaling)};
    yarn.beta_fast = number_or(scaling, "beta_fast", 32);
    yarn.beta_slow = number_or(scaling, "beta_slow", 1);
    yarn.amplitude = number_in(scaling, "attention_factor");
    yarn.mscale = number_in(scaling, "mscale");
    yarn.mscale_all_dim = number_in(scaling, "mscale_all_dim");
    const JsonValue* truncate = present_member(scaling.object, "truncate");
    if (truncate != nullptr && !truncate->is(JsonValue::Type::boolean)) {
      refuse_type("truncate", *truncate, to_translate("true or false"), scaling.place);
    }
    yarn.truncate = truncate == nullptr || truncate->boolean();
    return yarn;
  }
  throw input_error(translated("the scaling of positions {1} is not known", in_quotes(type)),
                    pointer_to(scaling.place, key),
                    translated("known: default, linear, dynamic, llama3, yarn, longrope"));
}

RotaryScaling RotaryReader::long_scaling(const ConfigurationPart& scaling) const {
  const double before = original(scaling);
  const auto longest = static_cast<double>(longest_);
  const double factor = number_in(scaling, "factor").value_or(longest / before);
  // The amplitude by its own name, which Phi-3.5-MoE has for short and for long texts.
  const auto mscale = number_in(scaling, "short_mscale");
  if (mscale && number_in(scaling, "long_mscale") != mscale) {
    throw input_error(translated("amplitudes that differ between short and long texts are not "
                                 "computed"),
                      pointer_to(scaling.place, "long_mscale"),
                      translated("positions of long texts would be rotated as in short ones"));
  }
  const auto given = mscale ? mscale : number_in(scaling, "attention_factor");
  const double amplitude =
      given.value_or(factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(before)));
  positive("attention_factor", amplitude, scaling.place);
  LongScaling scale;
  scale.original = before;
  scale.amplitude = amplitude;
  scale.short_factors = factors(scaling, "short_factor", width_ / 2);
  scale.long_factors = factors(scaling, "long_factor", width_ / 2);
  return scale;
}

LayerTypeReader::LayerTypeReader(const ConfigurationReader& reader, bool causal, std::size_t layers)
    : reader_(reader), row_(reader.row().window), causal_(causal) {
  read_types(layers);
  if (!row_) {
    if (std::ranges::count(types_, Type::windowed) > 0) {
      refuse_key("layer_types", translated("models of this type have no layers with a window"),
                 translated("their maps would be those of other layers"));
    }
    return;
  }
  if (row_->active) size_ = row_->size;
  both_ways_ = row_->both_sides.value_or(!causal_);
}

std::optional<std::size_t> LayerTypeReader::window_of(std::size_t layer, bool turned) const {
  if (!size_ || !row_ || !is_windowed(layer, turned)) return std::nullopt;
  if (*size_ == 0 && causal_ && !both_ways_) {
    throw input_error(translated("a window of 0 keys hides all keys"), row_->size_place,
                      translated("null means that layers have no window"));
  }
  // A window that is said to be causal is halved where it is on both sides (EmbeddingGemma).
  const bool halved = row_->each_side_half || (causal_ && both_ways_);
  if (row_->own_counted && !causal_ && *size_ > 0) return *size_ - 1;
  return halved ? *size_ / 2 : *size_;
}

bool LayerTypeReader::attends(std::size_t layer) const {
  if (layer < types_.size()) {
    return types_[layer] != Type::mixed && types_[layer] != Type::feed_forward &&
           types_[layer] != Type::experts;
  }
  const std::optional<RowMixed>& rule = reader_.row().mixed;
  if (!rule || rule->beside) return true;
  if (rule->full) return std::ranges::count(*rule->full, static_cast<double>(layer)) > 0;
  if (rule->full_every == 0) return true;
  return layer % rule->full_every == rule->full_offset.value_or(rule->full_every - 1);
}

bool LayerTypeReader::mixes(std::size_t layer) const {
  if (!reader_.row().mixed) return false;
  if (layer < types_.size()) return types_[layer] == Type::mixed || types_[layer] == Type::both;
  return reader_.row().mixed->beside || !attends(layer);
}

bool LayerTypeReader::feeds(std::size_t layer) const {
  return !reader_.row().mixed || !reader_.row().mixed->alone || (!attends(layer) && !mixes(layer));
}

std::optional<bool> LayerTypeReader::has_experts(std::size_t layer) const {
  const bool known = reader_.row().mixed && reader_.row().mixed->alone && layer < types_.size();
  return known ? std::optional(types_[layer] == Type::experts) : std::nullopt;
}

// The type of a further layer by its name, or by its letter in a pattern.
void LayerTypeReader::add_type(const JsonValue& type, const std::string& key) {
  struct Name {
    std::string_view name;
    Type type;
    bool mixed = false;  // whether only models with another mixer have it
  };
  constexpr auto names = std::to_array<Name>({{"full_attention", Type::full},
                                              {"attention", Type::full},
                                              {"global", Type::full},
                                              {"*", Type::full, true},
                                              {"sliding_attention", Type::windowed},
                                              {"chunked_attention", Type::windowed},
                                              {"local", Type::windowed},
                                              {"linear_attention", Type::mixed, true},
                                              {"mamba", Type::mixed, true},
                                              {"conv", Type::mixed, true},
                                              {"M", Type::mixed, true},
                                              {"hybrid", Type::both, true},
                                              {"mlp", Type::feed_forward, true},
                                              {"-", Type::feed_forward, true},
                                              {"moe", Type::experts, true},
                                              {"E", Type::experts, true}});
  const std::string name = type.is(JsonValue::Type::string) ? type.string() : "";
  const auto* const own = std::ranges::find(names, name, &Name::name);
  if (own == names.end() || (own->mixed && !reader_.row().mixed)) {
    refuse_key(key, translated("layers of the type {1} are not computed", in_quotes(name)),
               translated("their maps would be those of another attention"));
  }
  types_.push_back(own->type);
}

// The types of the layers: a list of them, or of types with how often they come (GPT-Neo), or a
// letter for each (Nemotron-H).
void LayerTypeReader::read_types(std::size_t layers) {
  const std::optional<RowMixed>& mixed = reader_.row().mixed;
  std::string key = "layer_types";
  if (reader_.find(key) == nullptr) {
    key = row_ ? reader_.listed(row_->types_keys).value_or("") : "";
    if (mixed && key.empty()) key = reader_.listed(mixed->types_keys).value_or("");
    if (mixed && key.empty()) key = reader_.listed(mixed->pattern_keys).value_or("");
  }
  const JsonValue* types = key.empty() ? nullptr : reader_.find(key);
  if (types == nullptr) return;
  if (types->is(JsonValue::Type::string) && mixed) {
    for (const char letter : types->string()) {
      add_type(JsonValue{std::string(1, letter)}, key);
    }
  } else if (!types->is(JsonValue::Type::array)) {
    refuse_type(key, *types, translated("a list of types"));
  }
  for (std::size_t i = 0; types->is(JsonValue::Type::array) && i < types->size(); ++i) {
    const JsonValue& entry = types->element(i);
    if (!entry.is(JsonValue::Type::array)) {
      add_type(entry, key);
      continue;
    }
    if (entry.size() != 2 || !entry.element(0).is(JsonValue::Type::array) ||
        !entry.element(1).is(JsonValue::Type::number) || !entry.element(1).is_integer()) {
      refuse_type(key, entry, translated("a list of types and how often they occur"));
    }
    for (std::int64_t time = 0; time < entry.element(1).integer() && time < 1000; ++time) {
      for (std::size_t j = 0; j < entry.element(0).size(); ++j) {
        add_type(entry.element(0).element(j), key);
      }
    }
  }
  if (types_.size() >= layers) return;
  refuse_key(key,
             translated("{1} for {2}", translated_count(types_.size(), "{1} type", "{1} types"),
                        translated_count(layers, "{1} layer", "{1} layers")),
             translated("give one type for each layer"));
}

bool LayerTypeReader::is_windowed(std::size_t layer, bool turned) const {
  if (layer < types_.size()) return types_[layer] == Type::windowed;
  if (row_->where_not_turned) return !turned;
  if (row_->where_turned) return turned;
  if (row_->until && layer >= *row_->until) return false;
  if (row_->from) return layer >= *row_->from;
  if (row_->alternating_from) return layer % 2 == 1;
  if (row_->full_every_error) throw Error(*row_->full_every_error);
  if (row_->full_every) {
    const std::size_t step = std::max<std::size_t>(*row_->full_every, 1);
    return row_->full_first ? layer % step != 0 : (layer + 1) % step != 0;
  }
  return true;
}

void read_disentangled(const ConfigurationReader& reader, Architecture& model) {
  if (!reader.row().disentangled) return;
  const RowDisentangled& row = *reader.row().disentangled;
  ModelDisentangled own;
  if (row.sinusoidal) {
    own.content_to_position = own.sinusoidal = true;
    own.clamp = row.clamp > 0 ? size_of_number(row.clamp) : 0;
    model.disentangled = own;
    return;
  }
  for (const std::string& name : joined_names(reader, row.terms_keys)) {
    if (name != "c2p" && name != "p2c") {
      refuse_key(*reader.listed(row.terms_keys),
                 translated("terms of scores of the type {1} are not computed", in_quotes(name)),
                 translated("the maps would lack the scores of their distances"));
    }
    (name == "c2p" ? own.content_to_position : own.position_to_content) = true;
  }
  model.score_terms += (own.content_to_position ? 1U : 0U) + (own.position_to_content ? 1U : 0U);
  for (const std::string& name : joined_names(reader, row.norm_keys)) {
    if (name != "none" && name != "layer_norm") {
      refuse_key(*reader.listed(row.norm_keys),
                 translated("\"{1}\": {2} is not supported", *reader.listed(row.norm_keys),
                            in_quotes(name)),
                 translated("known: {1}", "none, layer_norm"));
    }
    own.normed = own.normed || name == "layer_norm";
  }
  const auto number = [&](const std::vector<std::string>& keys) {
    const auto key = reader.listed(keys);
    return key ? size_of_number(*reader.number(*key)) : 0;
  };
  if (!row.active || model.score_terms == 1) return;
  own.shared = row.shared;
  DistanceRows& distances = own.distances;
  distances.max_distance = number(row.distance_keys);
  if (distances.max_distance == 0) {
    distances.max_distance =
        reader.required(translated("longest text"), {"max_position_embeddings"});
  }
  distances.buckets = number(row.buckets_keys);
  distances.span = distances.buckets > 0 ? distances.buckets : distances.max_distance;
  if (distances.buckets == 1) {
    throw input_error(translated("distances up to {1} cannot be put into {2} buckets",
                                 distances.max_distance, distances.buckets),
                      pointer_to("", *reader.listed(row.buckets_keys)),
                      translated("give at least 2"));
  }
  for (const std::size_t size : {distances.span, distances.max_distance}) {
    if (size <= most_width) continue;
    throw input_error(translated("the configuration asks for a size of {1}", size), "",
                      translated("no size of a model is beyond {1}", most_width));
  }
  model.disentangled = own;
}

}  // namespace attn
