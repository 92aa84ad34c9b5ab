#include "models/rotary_reader.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::optional<double> number_in(const JsonValue& object, const char* key) {
  const JsonValue* value = present_member(object, key);
  return value != nullptr && value->is(JsonValue::Type::number) ? std::optional(value->number())
                                                                : std::nullopt;
}

double number_or(const JsonValue& object, const char* key, double otherwise) {
  return number_in(object, key).value_or(otherwise);
}

double needed(const JsonValue& scaling, const char* key) {
  if (const auto number = number_in(scaling, key)) return positive(key, *number, "/rope_scaling");
  throw input_error(translated("the scaling of positions has no number \"{1}\"", key),
                    "/rope_scaling", translated("the configuration is not complete"));
}

std::vector<double> factors(const JsonValue& scaling, const char* key, std::size_t pairs) {
  const JsonValue* list = present_member(scaling, key);
  if (list == nullptr || !list->is(JsonValue::Type::array) || list->size() != pairs) {
    throw input_error(
        translated(
            "the scaling of positions needs {1} numbers in \"{2}\", one a pair of turned columns",
            pairs, key),
        "/rope_scaling", translated("the configuration is not complete"));
  }
  std::vector<double> numbers;
  for (std::size_t i = 0; i < pairs; ++i) {
    const JsonValue& factor = list->element(i);
    if (!factor.is(JsonValue::Type::number)) refuse_type(key, factor, translated("a number"));
    numbers.push_back(positive(key, factor.number(), "/rope_scaling"));
  }
  return numbers;
}

}  // namespace

RotaryReader::RotaryReader(const ConfigurationReader& reader, std::size_t head_width)
    : reader_(reader) {
  const JsonValue* part = present_member(reader.row(), "rotary");
  static const JsonValue empty{JsonValue::Object{}};
  part_ = part == nullptr ? &empty : part;
  longest_ = reader.first_count({"max_position_embeddings", "n_positions", "n_ctx"}).value_or(0);
  const JsonValue* both = reader.find("rope_parameters");
  if (both != nullptr && !both->is(JsonValue::Type::object)) {
    refuse_type("rope_parameters", *both, translated("an object"));
  }
  for (const char* kind : {"full_attention", "sliding_attention"}) {
    if (both != nullptr && present_member(*both, kind) != nullptr) by_kind_ = true;
  }
  double share = reader.chosen(*part_, "share", "share_keys").value_or(1);
  if (const JsonValue* flat = parameters(false)) {
    share = number_or(*flat, "partial_rotary_factor", share);
  }
  width_ = size_of_number(static_cast<double>(head_width) * share);
  if (const auto whole = reader.chosen(*part_, "width", "width_keys")) {
    width_ = size_of_number(*whole);
  }
  if (width_ == 0 || width_ % 2 != 0 || width_ > head_width) {
    throw input_error(
        translated("of heads {1} wide {2} columns cannot be turned", head_width, width_), "",
        translated("an even number up to the width of a head can"));
  }
}

Rotary RotaryReader::read(bool window) const {
  Rotary rotary;
  rotary.width = width_;
  rotary.interleaved = reader_.chosen_boolean(*part_, "interleaved", "interleaved_keys", false);
  rotary.theta = reader_.chosen(*part_, "theta", "theta_keys").value_or(10000);
  const bool own_theta = window && (present_member(*part_, "window_theta") != nullptr);
  if (own_theta) {
    const auto theta = reader_.chosen(*part_, "window_theta", "window_theta_keys");
    // A key that is there and null means that of the other layers.
    if (!reader_.given_as_null(*part_, "window_theta_keys")) rotary.theta = *theta;
  }
  const JsonValue* scaling = reader_.find("rope_scaling");
  if (window && reader_.chosen_boolean(*part_, "scaling_of_full_layers_alone", "", false)) {
    scaling = nullptr;
  }
  if (const JsonValue* own = parameters(window)) {
    rotary.theta = number_or(*own, "rope_theta", rotary.theta);
    if (!(window && own_theta && !by_kind_)) scaling = own;
  }
  positive(reader_.listed(*part_, "theta_keys").value_or("rope_theta"), rotary.theta);
  if (scaling != nullptr) rotary.scaling = read_scaling(*scaling);
  return rotary;
}

const JsonValue* RotaryReader::parameters(bool window) const {
  const JsonValue* both = reader_.find("rope_parameters");
  if (both == nullptr || !by_kind_) return both;
  const JsonValue* own = present_member(*both, window ? "sliding_attention" : "full_attention");
  if (own != nullptr && !own->is(JsonValue::Type::object)) {
    refuse_type("rope_parameters", *own, translated("an object of each kind of layers"));
  }
  return own;
}

double RotaryReader::original(const JsonValue& scaling) const {
  const char* key = "original_max_position_embeddings";
  const auto own = number_in(scaling, key);
  return positive(key, own ? *own : reader_.number(key).value_or(static_cast<double>(longest_)));
}

RotaryScaling RotaryReader::read_scaling(const JsonValue& scaling) const {
  if (!scaling.is(JsonValue::Type::object))
    refuse_type("rope_scaling", scaling, translated("an object"));
  const JsonValue* name = present_member(scaling, "rope_type");
  if (name == nullptr) name = present_member(scaling, "type");
  if (name == nullptr) return {};
  if (!name->is(JsonValue::Type::string))
    refuse_type("rope_scaling", *name, translated("the name of a type"));
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
    const JsonValue* truncate = present_member(scaling, "truncate");
    yarn.truncate =
        truncate == nullptr || !truncate->is(JsonValue::Type::boolean) || truncate->boolean();
    return yarn;
  }
  throw input_error(translated("the scaling of positions {1} is not known", in_quotes(type)),
                    "/rope_scaling/rope_type",
                    translated("known: default, linear, dynamic, llama3, yarn, longrope"));
}

RotaryScaling RotaryReader::long_scaling(const JsonValue& scaling) const {
  const double before = original(scaling);
  const auto longest = static_cast<double>(longest_);
  const double factor = number_in(scaling, "factor").value_or(longest / before);
  const double amplitude =
      number_in(scaling, "attention_factor")
          .value_or(factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(before)));
  positive("attention_factor", amplitude, "/rope_scaling");
  LongScaling scale;
  scale.original = before;
  scale.amplitude = amplitude;
  scale.short_factors = factors(scaling, "short_factor", width_ / 2);
  scale.long_factors = factors(scaling, "long_factor", width_ / 2);
  return scale;
}

}  // namespace attn
