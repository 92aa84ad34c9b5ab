#include "models/architecture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "attn/error.hpp"

#include "io/json_writer.hpp"
#include "models/builtin_rows.hpp"
#include "support/in_quotes.hpp"
#include "support/nearest_name.hpp"
#include "support/number_text.hpp"

namespace attn {
namespace {

// A member that is there and not null; configurations write null for what is left to the default.
const JsonValue* member(const JsonValue& object, std::string_view key) {
  if (!object.is(JsonValue::Type::object)) return nullptr;
  const JsonValue* value = object.find(key);
  return value == nullptr || value->is(JsonValue::Type::null) ? nullptr : value;
}

[[noreturn]] void refuse(const std::string& key, const std::string& problem,
                         const std::string& help) {
  throw input_error(problem, pointer_to("", key), help);
}

[[noreturn]] void refuse_type(const std::string& key, const JsonValue& value, const char* wanted) {
  throw input_error("expected " + std::string(wanted) + ", found " + std::string(type_text(value)),
                    pointer_to("", key), "this is no configuration as the libraries write it");
}

std::vector<std::string> texts(const JsonValue& value) {
  std::vector<std::string> result;
  if (value.is(JsonValue::Type::string)) {
    result.push_back(value.string());
  } else {
    for (std::size_t i = 0; i < value.size(); ++i) result.push_back(value.element(i).string());
  }
  return result;
}

// `base` with the members of `change` in place of its own: objects member by member, null takes
// away.
JsonValue merged(const JsonValue& base, const JsonValue& change) {
  if (!base.is(JsonValue::Type::object) || !change.is(JsonValue::Type::object)) return change;
  JsonValue::Object members;
  for (const JsonMember& own : base.members()) {
    const JsonValue* other = change.find(own.key);
    if (other == nullptr) {
      members.push_back(own);
    } else if (!other->is(JsonValue::Type::null)) {
      members.push_back({own.key, merged(own.value, *other)});
    }
  }
  for (const JsonMember& own : change.members()) {
    if (base.find(own.key) == nullptr && !own.value.is(JsonValue::Type::null)) {
      members.push_back(own);
    }
  }
  return JsonValue{std::move(members)};
}

const JsonValue& table() {
  static const JsonValue rows = parse_json(builtin_rows());
  return rows;
}

struct Refused {
  std::string_view family, reason;
};
constexpr std::string_view no_text = "they read pictures or sound";
constexpr std::string_view mixture = "their feed-forwards choose among experts";
constexpr std::array<Refused, 24> refused_families{{
    {"vit", no_text},
    {"clip", no_text},
    {"dinov2", no_text},
    {"siglip", no_text},
    {"whisper", no_text},
    {"qwen2_moe", mixture},
    {"qwen3_moe", mixture},
    {"olmoe", mixture},
    {"phimoe", mixture},
    {"dbrx", mixture},
    {"longformer", "their windows have weights of their own for global positions"},
    {"xlnet", "their scores have terms between contents and positions"},
    {"deberta", "their scores have terms between contents and positions"},
    {"deberta-v2", "their scores have terms between contents and positions"},
    {"deepseek_v2", "their keys and values are compressed into one latent vector"},
    {"deepseek_v3", "their keys and values are compressed into one latent vector"},
    {"mamba", "their layers have no attention"},
    {"mamba2", "their layers have no attention"},
    {"nemotron_h", "most of their layers have no attention"},
    {"qwen3_5", "most of their layers are linear attention without weights"},
    {"qwen3_next", "most of their layers are linear attention without weights"},
    {"lfm2", "most of their layers are convolutions"},
    {"gemma3n", "their layers share keys and values and mix several states"},
    {"mixtral", "their feed-forwards choose among experts"},
}};

JsonValue complete_row(std::string_view family) {
  const JsonValue* row = table().find(family);
  if (row == nullptr) {
    for (const Refused& known : refused_families) {
      if (known.family != family) continue;
      refuse("model_type",
             "models of the type " + in_quotes(family) +
                 " are not computed: " + std::string(known.reason),
             "choose another model");
    }
    const std::vector<std::string> names = known_families();
    const std::vector<std::string_view> known(names.begin(), names.end());
    refuse("model_type", "models of the type " + in_quotes(family) + " are not known",
           suggestion(family, known));
  }
  const JsonValue* like = row->find("like");
  return like == nullptr ? *row : merged(complete_row(like->string()), *row);
}

// The row with what it says of configurations such as this one: {"key":…, "is":…, "row":…}.
JsonValue with_cases(JsonValue row, const JsonValue& config) {
  const JsonValue* found = member(row, "cases");
  if (found == nullptr) return row;
  const JsonValue cases = *found;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const JsonValue& one = cases.element(i);
    const std::string& key = one.find("key")->string();
    const JsonValue* value = member(config, key);
    const JsonValue* defaults = member(row, "defaults");
    if (value == nullptr && defaults != nullptr) value = member(*defaults, key);
    const JsonValue& wanted = *one.find("is");
    if (value == nullptr || value->type() != wanted.type()) continue;
    const bool is = wanted.is(JsonValue::Type::boolean) ? value->boolean() == wanted.boolean()
                                                        : value->number() == wanted.number();
    if (is) row = merged(row, *one.find("row"));
  }
  return row;
}

void write(JsonWriter& json, const JsonValue& value) {
  switch (value.type()) {
    case JsonValue::Type::null:
      json.null();
      break;
    case JsonValue::Type::boolean:
      json.value(value.boolean());
      break;
    case JsonValue::Type::number:
      if (value.is_integer()) {
        json.value(value.integer());
      } else {
        json.value(value.number());
      }
      break;
    case JsonValue::Type::string:
      json.value(value.string());
      break;
    case JsonValue::Type::array:
      json.begin_array();
      for (std::size_t i = 0; i < value.size(); ++i) write(json, value.element(i));
      json.end_array();
      break;
    case JsonValue::Type::object:
      json.begin_object();
      for (const JsonMember& member : value.members()) {
        if (member.key == "like") continue;
        json.key(member.key);
        write(json, member.value);
      }
      json.end_object();
      break;
  }
}

// Reads numbers and texts of a configuration under the names that its row gives them.
class Reader {
 public:
  Reader(const JsonValue& config, const JsonValue& row)
      : config_(config), row_(row), defaults_(member(row, "defaults")) {}

  const JsonValue* find(std::string_view key) const {
    const JsonValue* value = member(config_, key);
    return value == nullptr && defaults_ != nullptr ? member(*defaults_, key) : value;
  }

  std::optional<double> number(const std::string& key) const {
    const JsonValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is(JsonValue::Type::number)) refuse_type(key, *value, "a number");
    return value->number();
  }

  std::optional<std::size_t> count(const std::string& key) const {
    const JsonValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is(JsonValue::Type::number) || !value->is_integer() || value->integer() < 0) {
      refuse_type(key, *value, "a whole number from 0 on");
    }
    return static_cast<std::size_t>(value->integer());
  }

  std::optional<bool> boolean(const std::string& key) const {
    const JsonValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is(JsonValue::Type::boolean)) refuse_type(key, *value, "true or false");
    return value->boolean();
  }

  std::optional<std::string> text(const std::string& key) const {
    const JsonValue* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is(JsonValue::Type::string)) refuse_type(key, *value, "a string");
    return value->string();
  }

  std::optional<std::size_t> first_count(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (const auto found = count(key)) return found;
    }
    return std::nullopt;
  }

  std::size_t required(const char* meaning, std::initializer_list<const char*> keys) const {
    const auto found = first_count(keys);
    if (found && *found > 0) return *found;
    std::string names;
    for (const char* key : keys) names += (names.empty() ? "" : ", ") + std::string(key);
    throw input_error("the configuration does not say the " + std::string(meaning), "",
                      "it is looked for under " + names);
  }

  // The first of the keys that a part of the row lists under `list`.
  std::optional<std::string> listed(const JsonValue& part, std::string_view list) const {
    const JsonValue* keys = member(part, list);
    if (keys == nullptr) return std::nullopt;
    for (std::string& key : texts(*keys)) {
      if (find(key) != nullptr) return std::move(key);
    }
    return std::nullopt;
  }

  // The number under one of the keys listed, else the one that the row itself gives.
  std::optional<double> chosen(const JsonValue& part, const std::string& name,
                               std::string_view list) const {
    if (const auto key = listed(part, list)) return number(*key);
    const JsonValue* own = member(part, name);
    return own == nullptr ? std::nullopt : std::optional(own->number());
  }

  bool chosen_boolean(const JsonValue& part, const std::string& name, std::string_view list,
                      bool otherwise) const {
    if (const auto key = listed(part, list)) return *boolean(*key);
    const JsonValue* own = member(part, name);
    return own == nullptr ? otherwise : own->boolean();
  }

  const JsonValue& row() const { return row_; }
  const JsonValue& config() const { return config_; }

 private:
  const JsonValue& config_;
  const JsonValue& row_;
  const JsonValue* defaults_;
};

ModelActivation activation_of(const std::string& name, const std::string& key) {
  constexpr std::array<std::pair<std::string_view, ModelActivation>, 11> known{{
      {"relu", ModelActivation::relu},
      {"gelu", ModelActivation::gelu},
      {"gelu_python", ModelActivation::gelu},
      {"gelu_new", ModelActivation::gelu_tanh},
      {"gelu_pytorch_tanh", ModelActivation::gelu_tanh},
      {"gelu_fast", ModelActivation::gelu_tanh},
      {"gelu_bloom", ModelActivation::gelu_bloom},
      {"quick_gelu", ModelActivation::quick_gelu},
      {"silu", ModelActivation::silu},
      {"swish", ModelActivation::silu},
      {"gelu_accurate", ModelActivation::gelu_tanh},
  }};
  std::vector<std::string_view> names;
  for (const auto& [other, activation] : known) {
    if (other == name) return activation;
    names.push_back(other);
  }
  refuse(key, "the activation " + in_quotes(name) + " is not known", suggestion(name, names));
}

ModelActivation read_activation(const Reader& reader, const JsonValue& part,
                                const std::string& otherwise) {
  if (const auto key = reader.listed(part, "activation_keys")) {
    return activation_of(*reader.text(*key), *key);
  }
  const JsonValue* own = member(part, "activation");
  return activation_of(own == nullptr ? otherwise : own->string(), "activation");
}

double needed(const JsonValue& scaling, const char* key) {
  const JsonValue* value = member(scaling, key);
  if (value == nullptr || !value->is(JsonValue::Type::number)) {
    throw input_error("the scaling of positions has no number \"" + std::string(key) + "\"",
                      "/rope_scaling", "the configuration is not complete");
  }
  return value->number();
}

double number_or(const JsonValue& object, const char* key, double otherwise) {
  const JsonValue* value = member(object, key);
  return value != nullptr && value->is(JsonValue::Type::number) ? value->number() : otherwise;
}

std::optional<double> number_in(const JsonValue& object, const char* key) {
  const JsonValue* value = member(object, key);
  return value != nullptr && value->is(JsonValue::Type::number) ? std::optional(value->number())
                                                                : std::nullopt;
}

std::vector<double> factors(const JsonValue& scaling, const char* key, std::size_t pairs) {
  const JsonValue* list = member(scaling, key);
  if (list == nullptr || !list->is(JsonValue::Type::array) || list->size() != pairs) {
    throw input_error("the scaling of positions needs " + std::to_string(pairs) + " numbers in \"" +
                          key + "\", one a pair of turned columns",
                      "/rope_scaling", "the configuration is not complete");
  }
  std::vector<double> numbers;
  for (std::size_t i = 0; i < pairs; ++i) numbers.push_back(list->element(i).number());
  return numbers;
}

}  // namespace

std::vector<std::string> known_families() {
  std::vector<std::string> names;
  for (const JsonMember& row : table().members()) names.push_back(row.key);
  return names;
}

namespace {

// The rotary positions of layers of one sort.
class RotaryReader {
 public:
  RotaryReader(const Reader& reader, std::size_t head_width) : reader_(reader) {
    const JsonValue* part = member(reader.row(), "rotary");
    static const JsonValue empty{JsonValue::Object{}};
    part_ = part == nullptr ? &empty : part;
    longest_ = reader.first_count({"max_position_embeddings", "n_positions", "n_ctx"}).value_or(0);
    const JsonValue* both = reader.find("rope_parameters");
    for (const char* kind : {"full_attention", "sliding_attention"}) {
      if (both != nullptr && member(*both, kind) != nullptr) by_kind_ = true;
    }
    double share = reader.chosen(*part_, "share", "share_keys").value_or(1);
    if (const JsonValue* flat = parameters(false)) {
      share = number_or(*flat, "partial_rotary_factor", share);
    }
    width_ = static_cast<std::size_t>(static_cast<double>(head_width) * share);
    if (const auto whole = reader.chosen(*part_, "width", "width_keys")) {
      width_ = static_cast<std::size_t>(*whole);
    }
    if (width_ == 0 || width_ % 2 != 0 || width_ > head_width) {
      throw input_error("of heads " + std::to_string(head_width) + " wide " +
                            std::to_string(width_) + " columns cannot be turned",
                        "", "an even number up to the width of a head can");
    }
  }

  Rotary read(bool window) const {
    Rotary rotary;
    rotary.width = width_;
    rotary.interleaved = reader_.chosen_boolean(*part_, "interleaved", "interleaved_keys", false);
    rotary.theta = reader_.chosen(*part_, "theta", "theta_keys").value_or(10000);
    const bool own_theta = window && (member(*part_, "window_theta") != nullptr);
    if (own_theta) {
      const auto theta = reader_.chosen(*part_, "window_theta", "window_theta_keys");
      // A key that is there and null means that of the other layers.
      const JsonValue* keys = member(*part_, "window_theta_keys");
      bool given_as_null = false;
      for (const std::string& key : keys == nullptr ? std::vector<std::string>() : texts(*keys)) {
        const JsonValue* value = reader_.config().find(key);
        given_as_null = given_as_null || (value != nullptr && value->is(JsonValue::Type::null));
      }
      if (!given_as_null) rotary.theta = *theta;
    }
    const JsonValue* scaling = reader_.find("rope_scaling");
    if (window && reader_.chosen_boolean(*part_, "scaling_of_full_layers_alone", "", false)) {
      scaling = nullptr;
    }
    if (const JsonValue* own = parameters(window)) {
      rotary.theta = number_or(*own, "rope_theta", rotary.theta);
      if (!(window && own_theta && !by_kind_)) scaling = own;
    }
    if (scaling != nullptr) rotary.scaling = read_scaling(*scaling);
    return rotary;
  }

 private:
  // What newest configurations write in one object, or in one a sort of layers.
  const JsonValue* parameters(bool window) const {
    const JsonValue* both = reader_.find("rope_parameters");
    if (both == nullptr || !by_kind_) return both;
    return member(*both, window ? "sliding_attention" : "full_attention");
  }

  double original(const JsonValue& scaling) const {
    const auto own = number_in(scaling, "original_max_position_embeddings");
    if (own) return *own;
    return reader_.number("original_max_position_embeddings")
        .value_or(static_cast<double>(longest_));
  }

  RotaryScaling read_scaling(const JsonValue& scaling) const {
    const JsonValue* name = member(scaling, "rope_type");
    if (name == nullptr) name = member(scaling, "type");
    if (name == nullptr) return {};
    const std::string& type = name->string();
    if (type == "default") return {};
    if (type == "linear") return LinearScaling{needed(scaling, "factor")};
    if (type == "dynamic") {
      return DynamicScaling{needed(scaling, "factor"), static_cast<double>(longest_)};
    }
    if (type == "llama3") {
      return BandScaling{needed(scaling, "factor"), needed(scaling, "low_freq_factor"),
                         needed(scaling, "high_freq_factor"), original(scaling)};
    }
    if (type == "longrope" || type == "su" || scaling.find("short_factor") != nullptr) {
      return long_scaling(scaling);
    }
    if (type == "yarn") {
      YarnScaling yarn{.factor = needed(scaling, "factor"), .original = original(scaling)};
      yarn.beta_fast = number_or(scaling, "beta_fast", 32);
      yarn.beta_slow = number_or(scaling, "beta_slow", 1);
      yarn.amplitude = number_in(scaling, "attention_factor");
      yarn.mscale = number_in(scaling, "mscale");
      yarn.mscale_all_dim = number_in(scaling, "mscale_all_dim");
      const JsonValue* truncate = member(scaling, "truncate");
      yarn.truncate = truncate == nullptr || truncate->boolean();
      return yarn;
    }
    throw input_error("the scaling of positions " + in_quotes(type) + " is not known",
                      "/rope_scaling/rope_type",
                      "known: default, linear, dynamic, llama3, yarn, longrope");
  }

  RotaryScaling long_scaling(const JsonValue& scaling) const {
    const double before = original(scaling);
    const auto longest = static_cast<double>(longest_);
    const double factor = number_in(scaling, "factor").value_or(longest / before);
    const double amplitude =
        number_in(scaling, "attention_factor")
            .value_or(factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(before)));
    LongScaling scale;
    scale.original = before;
    scale.amplitude = amplitude;
    scale.short_factors = factors(scaling, "short_factor", width_ / 2);
    scale.long_factors = factors(scaling, "long_factor", width_ / 2);
    return scale;
  }

  const Reader& reader_;
  const JsonValue* part_;
  std::size_t width_ = 0, longest_ = 0;
  bool by_kind_ = false;
};

// Which layers see a window only, and how large it is.
class WindowReader {
 public:
  WindowReader(const Reader& reader, bool causal) : reader_(reader), causal_(causal) {
    part_ = member(reader.row(), "window");
    read_types();
    if (part_ == nullptr) {
      if (std::ranges::count(types_, true) > 0) {
        refuse("layer_types", "models of this type have no layers with a window",
               "their maps would be those of other layers");
      }
      return;
    }
    const auto key = reader.listed(*part_, "keys");
    bool given_as_null = false;
    if (const JsonValue* keys = member(*part_, "keys")) {
      for (const std::string& name : texts(*keys)) {
        const JsonValue* value = reader.config().find(name);
        given_as_null = given_as_null || (value != nullptr && value->is(JsonValue::Type::null));
      }
    }
    if (key) {
      size_ = reader.count(*key);
    } else if (!given_as_null) {
      if (const JsonValue* own = member(*part_, "size")) {
        size_ = static_cast<std::size_t>(own->integer());
      }
    }
    if (!reader.chosen_boolean(*part_, "switch", "switch_keys", true)) size_.reset();
    both_ways_ = reader.chosen_boolean(*part_, "both_sides", "both_sides_keys", !causal_);
  }

  bool both_ways() const { return both_ways_; }

  std::optional<std::size_t> of_layer(std::size_t layer) const {
    if (!size_ || part_ == nullptr || !is_windowed(layer)) return std::nullopt;
    if (member(*part_, "each_side_half") != nullptr) return *size_ / 2;
    return *size_;
  }

 private:
  // A list of the layers' types, or of types and how often they follow one another (GPT-Neo).
  void read_types() {
    const auto add = [&](const JsonValue& type, const std::string& key) {
      const std::string name = type.is(JsonValue::Type::string) ? type.string() : "";
      const bool window = name == "sliding_attention" || name == "local";
      if (!window && name != "full_attention" && name != "global") {
        refuse(key, "layers of the type " + in_quotes(name) + " are not computed",
               "their maps would be those of another attention");
      }
      types_.push_back(window);
    };
    std::string key = "layer_types";
    if (reader_.find(key) == nullptr && part_ != nullptr) {
      key = reader_.listed(*part_, "types_keys").value_or("");
    }
    if (const JsonValue* types = key.empty() ? nullptr : reader_.find(key)) {
      if (!types->is(JsonValue::Type::array)) refuse_type(key, *types, "a list of types");
      for (std::size_t i = 0; i < types->size(); ++i) {
        const JsonValue& entry = types->element(i);
        if (!entry.is(JsonValue::Type::array)) {
          add(entry, key);
          continue;
        }
        if (entry.size() != 2 || !entry.element(0).is(JsonValue::Type::array) ||
            !entry.element(1).is(JsonValue::Type::number)) {
          refuse_type(key, entry, "a list of types and how often they come");
        }
        for (std::int64_t time = 0; time < entry.element(1).integer() && time < 1000; ++time) {
          for (std::size_t j = 0; j < entry.element(0).size(); ++j) {
            add(entry.element(0).element(j), key);
          }
        }
      }
    }
  }

  bool is_windowed(std::size_t layer) const {
    if (layer < types_.size()) return types_[layer];
    if (const auto first = reader_.chosen(*part_, "from", "from_keys")) {
      return static_cast<double>(layer) >= *first;
    }
    if (member(*part_, "alternating_from") != nullptr) return layer % 2 == 1;
    if (const auto every = reader_.chosen(*part_, "full_every", "full_every_keys")) {
      const auto step = static_cast<std::size_t>(std::max(*every, 1.0));
      const JsonValue* first = member(*part_, "full_first");
      const bool starts_full = first != nullptr && first->boolean();
      return starts_full ? layer % step != 0 : (layer + 1) % step != 0;
    }
    return true;
  }

  const Reader& reader_;
  const JsonValue* part_ = nullptr;
  std::vector<bool> types_;  ///< whether a layer has a window, as far as it is said
  std::optional<std::size_t> size_;
  bool causal_, both_ways_ = false;
};

TensorNames read_names(const JsonValue& names) {
  TensorNames result;
  for (const JsonMember& name : names.members()) result.emplace(name.key, texts(name.value));
  return result;
}

template <class Value, std::size_t N>
Value named(const JsonValue& row, const char* key,
            const std::array<std::pair<std::string_view, Value>, N>& known, Value otherwise) {
  const JsonValue* value = member(row, key);
  if (value == nullptr) return otherwise;
  std::vector<std::string_view> names;
  for (const auto& [name, meaning] : known) {
    if (name == value->string()) return meaning;
    names.push_back(name);
  }
  throw input_error("the row says \"" + std::string(key) + "\": " + in_quotes(value->string()),
                    pointer_to("", key), suggestion(value->string(), names));
}

void refuse_unsupported(const JsonValue& config) {
  if (member(config, "quantization_config") != nullptr) {
    refuse("quantization_config", "the weights are quantised, and what they stand for is not known",
           "take the model's unquantised folder");
  }
  if (const JsonValue* type = member(config, "position_embedding_type")) {
    if (type->is(JsonValue::Type::string) && type->string() != "absolute") {
      refuse("position_embedding_type",
             "positions of the type " + in_quotes(type->string()) + " are not computed",
             "the maps would lack the scores of their distances");
    }
  }
  struct Neutral {
    const char* key;
    double value;
    const char* wrong;
  };
  constexpr std::array<Neutral, 9> neutral{
      {{"num_hidden_groups", 1, "all layers would be taken for one"},
       {"inner_group_num", 1, "layers within layers would be left out"},
       {"residual_multiplier", 1, "branches would be added as they are"},
       {"embedding_multiplier", 1, "embeddings would stay as they are"},
       {"logits_scaling", 1, "logits would stay as they are"},
       {"logit_scale", 1, "logits would stay as they are"},
       {"clip_qkv", 0, "queries, keys and values would stay as they are"},
       {"num_kv_shared_layers", 0, "layers would have keys of their own"},
       {"attention_chunk_size", 0, "queries would see keys of other chunks"}}};
  for (const Neutral& known : neutral) {
    const JsonValue* value = member(config, known.key);
    if (value == nullptr || !value->is(JsonValue::Type::number) || value->number() == known.value) {
      continue;
    }
    std::string shown = number_text(value->number());
    refuse(known.key, std::string("\"") + known.key + "\": " + shown + " is not supported",
           known.wrong);
  }
  const JsonValue* crosses = member(config, "add_cross_attention");
  if (crosses != nullptr && crosses->is(JsonValue::Type::boolean) && crosses->boolean()) {
    refuse("add_cross_attention", "decoders that read another model's states are not computed",
           "their maps need that model's states");
  }
}

// Of a model of several parts, the language model's configuration.
const JsonValue& language_part(const JsonValue& config) {
  const JsonValue* part = member(config, "text_config");
  return part != nullptr && part->is(JsonValue::Type::object) ? *part : config;
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

// Whether the folder holds the encoder of an encoder-decoder by itself.
bool encoder_alone(const JsonValue& config) {
  const JsonValue* classes = member(config, "architectures");
  if (classes == nullptr || !classes->is(JsonValue::Type::array)) return false;
  for (std::size_t i = 0; i < classes->size(); ++i) {
    const JsonValue& name = classes->element(i);
    if (name.is(JsonValue::Type::string) && name.string().ends_with("EncoderModel")) return true;
  }
  return false;
}

Architecture normalised(const JsonValue& config, const JsonValue& row, std::string family) {
  const Reader reader(config, row);
  Architecture model;
  model.family = std::move(family);
  // 1. Sizes.
  model.width = reader.required("width", {"hidden_size", "n_embd", "n_embed", "d_model", "dim"});
  model.heads = reader.required("number of heads", {"num_attention_heads", "n_head", "num_heads",
                                                    "n_heads", "encoder_attention_heads"});
  model.kv_heads = reader.first_count({"num_key_value_heads"}).value_or(model.heads);
  if (const auto own = reader.chosen(row, "kv_heads", "kv_heads_keys")) {
    model.kv_heads = static_cast<std::size_t>(*own);
  }
  if (const auto other = reader.first_count({"decoder_attention_heads"});
      other && *other != model.heads) {
    refuse("decoder_attention_heads", "encoder and decoder have different numbers of heads",
           "the decoder's heads would be cut wrongly");
  }
  if (model.kv_heads == 0 || model.heads % model.kv_heads != 0) {
    refuse("num_key_value_heads",
           std::to_string(model.heads) + " query heads cannot share " +
               std::to_string(model.kv_heads) + " key heads",
           "the number of query heads must be a multiple");
  }
  model.head_width = reader.first_count({"head_dim", "d_kv"}).value_or(model.width / model.heads);
  if (model.head_width == 0) refuse("head_dim", "the heads have no width", "check the sizes");
  model.vocabulary = reader.first_count({"vocab_size"}).value_or(0);
  const std::size_t layers =
      reader.required("number of layers",
                      {"num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers"});

  for (const std::size_t size :
       {layers, model.width, model.heads, model.head_width,
        reader.first_count({"num_decoder_layers", "decoder_layers"}).value_or(1)}) {
    constexpr std::size_t most = 1 << 20U;  // what no model has
    if (size <= most) continue;
    throw input_error("the configuration asks for a size of " + std::to_string(size), "",
                      "no size of a model is beyond " + std::to_string(most));
  }

  // 2. What all layers share.
  model.norm = named(row, "norm", norms, ModelNorm::layer);
  model.eps = reader.chosen(row, "eps", "eps_keys").value_or(1e-5);
  model.activation = read_activation(reader, row, "gelu");
  model.positions = named(row, "positions", position_kinds, ModelPositions::none);
  model.parallel = reader.chosen_boolean(row, "parallel", "parallel_keys", false);
  model.residual_after_norm =
      reader.chosen_boolean(row, "residual_after_norm", "residual_after_norm_keys", false);
  model.whole_width_norms = member(row, "whole_width_norms") != nullptr;
  model.stored_transposed = member(row, "stored") != nullptr;
  model.fused = named(row, "fused", layouts, FusedLayout::side_by_side);
  model.alibi_scaled = member(row, "alibi_scaled") != nullptr;
  if (const JsonValue* optional = member(row, "optional")) model.optional = texts(*optional);
  model.softcap = reader.chosen(row, "softcap", "softcap_keys");
  model.logit_softcap = reader.chosen(row, "logit_softcap", "logit_softcap_keys");
  for (const auto& [cap, keys] : {std::pair(&model.softcap, "softcap_keys"),
                                  std::pair(&model.logit_softcap, "logit_softcap_keys")}) {
    // A cap that is given as null is none.
    const JsonValue* names = member(row, keys);
    for (const std::string& key : names == nullptr ? std::vector<std::string>() : texts(*names)) {
      const JsonValue* value = config.find(key);
      if (value != nullptr && value->is(JsonValue::Type::null)) cap->reset();
    }
  }
  const JsonValue* tied = member(row, "tied");
  model.tied = reader.boolean("tie_word_embeddings").value_or(tied == nullptr || tied->boolean());
  if (member(row, "tied_logits_by_root_of_width") != nullptr && model.tied) {
    model.tied_logit_scale = 1 / std::sqrt(static_cast<double>(model.width));
  }
  const JsonValue* scaled = member(row, "embedding_scale");
  if (scaled != nullptr || reader.chosen_boolean(row, "", "embedding_scale_keys", false)) {
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
  if (const JsonValue* offset = member(row, "position_offset")) {
    model.first_position = offset->is(JsonValue::Type::string)
                               ? static_cast<std::size_t>(model.pad_id.value_or(1) + 1)
                               : static_cast<std::size_t>(offset->integer());
    if (offset->is(JsonValue::Type::string) && table) {
      model.longest = *table > model.first_position ? *table - model.first_position : 0;
    }
  }
  if (model.first_position > 1 << 20U) {
    refuse("pad_token_id", "positions cannot begin at " + std::to_string(model.first_position),
           "they begin behind the id of the padding token");
  }
  if (const JsonValue* buckets = member(row, "buckets")) {
    model.buckets.count =
        static_cast<std::size_t>(reader.chosen(*buckets, "count", "count_keys").value_or(32));
    model.buckets.max_distance = static_cast<std::size_t>(
        reader.chosen(*buckets, "distance", "distance_keys").value_or(128));
    if (model.buckets.count < 4 || model.buckets.count > 65536 ||
        model.buckets.max_distance <= model.buckets.count / 2) {
      throw input_error("distances up to " + std::to_string(model.buckets.max_distance) +
                            " cannot be put into " + std::to_string(model.buckets.count) +
                            " buckets",
                        "/relative_attention_num_buckets",
                        "give at least 4, and a distance of more than half as many");
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
  if (const JsonValue* experts = member(row, "experts")) {
    ModelExperts own;
    own.count =
        static_cast<std::size_t>(reader.chosen(*experts, "count", "count_keys").value_or(0));
    own.chosen =
        static_cast<std::size_t>(reader.chosen(*experts, "chosen", "chosen_keys").value_or(0));
    own.limit = reader.chosen(*experts, "limit", "limit_keys").value_or(7);
    if (own.chosen == 0 || own.chosen > own.count) {
      refuse("num_experts_per_tok",
             "each token takes " + std::to_string(own.chosen) + " of " + std::to_string(own.count) +
                 " experts",
             "from one to all of them can be taken");
    }
    model.experts = own;
  } else if (const auto other = reader.first_count({"num_local_experts", "num_experts"});
             other && *other > 1) {
    refuse("num_local_experts", "feed-forwards that choose among experts are not computed",
           "of this kind gpt_oss alone is known");
  }

  // 5. The head.
  if (const JsonValue* head = member(row, "head")) {
    const auto text_in = [&](const char* key) {
      const JsonValue* value = member(*head, key);
      return value == nullptr ? std::string() : value->string();
    };
    model.head.dense = text_in("dense");
    model.head.norm = text_in("norm");
    model.head.weight = text_in("weight");
    if (const JsonValue* bias = member(*head, "bias")) model.head.bias = texts(*bias);
    if (member(*head, "activation") != nullptr) {
      model.head.activation = read_activation(reader, *head, "gelu");
    }
  }

  // 6. Stacks and their layers.
  if (const JsonValue* prefixes = member(row, "prefixes")) model.prefixes = texts(*prefixes);
  const auto stack_of = [&](const JsonValue& part, std::string prefix, bool causal, bool crosses,
                            std::size_t count) {
    ModelStack stack;
    stack.prefix = std::move(prefix);
    stack.causal = causal;
    stack.crosses = crosses;
    const JsonValue* names = member(part, "names");
    if (names == nullptr) refuse("names", "the row names no tensors", "give \"names\"");
    stack.names = read_names(*names);
    std::optional<RotaryReader> rotary;
    if (model.positions == ModelPositions::rotary) rotary.emplace(reader, model.head_width);
    const WindowReader windows(reader, causal);
    if (causal && windows.both_ways()) stack.causal = false;
    const JsonValue* rotary_part = member(row, "rotary");
    const JsonValue* zero = nullptr;
    std::size_t off_every = 0;
    if (rotary_part != nullptr) {
      if (const auto key = reader.listed(*rotary_part, "off_where_zero_keys")) {
        zero = reader.find(*key);
      }
      if (const JsonValue* every = member(*rotary_part, "off_every")) {
        off_every = static_cast<std::size_t>(every->integer());
      }
    }
    const JsonValue* fixed = member(row, "scale");
    const auto scale_of = reader.chosen(row, "scale_of", "scale_keys");
    const auto head_width = static_cast<double>(model.head_width);
    double scale = 1 / std::sqrt(scale_of.value_or(head_width));
    if (fixed != nullptr) scale = fixed->number();
    if (!reader.boolean("scale_attn_weights").value_or(true)) scale = 1;
    const bool by_layer = reader.boolean("scale_attn_by_inverse_layer_idx").value_or(false);
    for (std::size_t n = 0; n < count; ++n) {
      ModelLayer layer;
      layer.window = windows.of_layer(n);
      layer.scale = by_layer ? scale / static_cast<double>(n + 1) : scale;
      const bool turned = zero != nullptr && n < zero->size() ? zero->element(n).number() != 0
                          : off_every > 0                     ? (n + 1) % off_every != 0
                                                              : true;
      if (rotary && turned) layer.rotary = rotary->read(layer.window.has_value());
      stack.layers.push_back(std::move(layer));
    }
    return stack;
  };
  const JsonValue* encoder = member(row, "encoder");
  const JsonValue* decoder = member(row, "decoder");
  if (encoder != nullptr && encoder_alone(config)) {
    model.stacks.push_back(
        stack_of(*encoder, member(*encoder, "prefix")->string(), false, false, layers));
    return model;
  }
  if (encoder != nullptr && decoder != nullptr) {
    model.stacks.push_back(
        stack_of(*encoder, member(*encoder, "prefix")->string(), false, false, layers));
    model.stacks.push_back(
        stack_of(*decoder, member(*decoder, "prefix")->string(), true, true,
                 reader.first_count({"num_decoder_layers", "decoder_layers"}).value_or(layers)));
    return model;
  }
  const JsonValue* causal = member(row, "causal");
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

namespace {

std::string family_of(const JsonValue& config) {
  const JsonValue* type = member(config, "model_type");
  return type != nullptr && type->is(JsonValue::Type::string) ? type->string() : "";
}

// The row of the configuration's family, or the user's, with all that it takes over.
JsonValue row_of(const JsonValue& config, const JsonValue* row) {
  const std::string family = family_of(config);
  if (row == nullptr) {
    if (family.empty()) {
      refuse("model_type", "the configuration does not say its model_type",
             "give one of the families that are known, or a row of your own");
    }
    return with_cases(complete_row(family), config);
  }
  if (!row->is(JsonValue::Type::object)) {
    throw input_error("the row is " + std::string(type_text(*row)) + ", no object", "",
                      "model_row() gives one");
  }
  const JsonValue* like = member(*row, "like");
  if (like != nullptr && !like->is(JsonValue::Type::string)) {
    refuse_type("like", *like, "the name of a family");
  }
  return with_cases(like == nullptr ? *row : merged(complete_row(like->string()), *row), config);
}

}  // namespace

Architecture read_architecture(const JsonValue& config, const JsonValue* row) {
  if (!config.is(JsonValue::Type::object)) {
    throw input_error("the configuration is " + std::string(type_text(config)) + ", no object", "",
                      "this is no config.json of a model");
  }
  refuse_unsupported(config);
  const JsonValue& part = language_part(config);
  refuse_unsupported(part);
  const std::string family = family_of(part);
  const JsonValue complete = row_of(part, row);
  const auto read = [&] {
    try {
      return normalised(part, complete, family.empty() ? "own row" : family);
    } catch (const std::bad_variant_access&) {
      throw input_error(
          "a value of the configuration or of the row has another type than it should", "",
          "model_row() gives a row as it should be");
    }
  };
  Architecture model = read();
  if (&part != &config) {
    for (const char* prefix : {"language_model.model.", "model.language_model."}) {
      model.prefixes.emplace_back(prefix);
    }
  }
  model.prefixes.emplace_back("");
  return model;
}

std::string row_text(const JsonValue& config, const JsonValue* row) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  write(json, row_of(language_part(config), row));
  json.finish();
  return text;
}

}  // namespace attn
