#include "document/position_reader.hpp"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/named.hpp"

#include "document/problems.hpp"
#include "io/json_object.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr auto norm_kinds =
    std::to_array<Named<NormKind>>({{"layer", NormKind::layer}, {"rms", NormKind::rms}});

// The members of one object.
class Members {
 public:
  Members(const JsonValue& object, std::string pointer)
      : object_(object), pointer_(std::move(pointer)) {}

  const JsonValue* find(std::string_view name) const { return object_.find(name); }
  std::string place(std::string_view name) const { return pointer_to(pointer_, name); }

  std::optional<double> number(const char* name) const {
    const JsonValue* value = find(name);
    return value ? std::optional(expect_number(*value, place(name))) : std::nullopt;
  }
  double needed(const char* name) const {
    if (const auto given = number(name)) return *given;
    throw input_error(translated("\"{1}\" is missing", name), place(name),
                      translated("give it as the model's configuration does"));
  }
  std::optional<bool> boolean(const char* name) const {
    const JsonValue* value = find(name);
    return value ? std::optional(expect_boolean(*value, place(name))) : std::nullopt;
  }
  std::optional<std::size_t> count(const char* name) const {
    const JsonValue* value = find(name);
    if (!value) return std::nullopt;
    return static_cast<std::size_t>(expect_integer(*value, place(name), 1));
  }

 private:
  const JsonValue& object_;
  std::string pointer_;
};

constexpr const char* original_length = "original_max_position_embeddings";

RotaryScaling linear_scaling(const Members& members) {
  return LinearScaling{members.needed("factor")};
}
RotaryScaling dynamic_scaling(const Members& members) {
  return DynamicScaling{members.needed("factor"), members.needed(original_length)};
}
RotaryScaling band_scaling(const Members& members) {
  return BandScaling{members.needed("factor"), members.needed("low_freq_factor"),
                     members.needed("high_freq_factor"), members.needed(original_length)};
}
RotaryScaling yarn_scaling(const Members& members) {
  YarnScaling yarn{.factor = members.needed("factor"), .original = members.needed(original_length)};
  yarn.beta_fast = members.number("beta_fast").value_or(yarn.beta_fast);
  yarn.beta_slow = members.number("beta_slow").value_or(yarn.beta_slow);
  yarn.truncate = members.boolean("truncate").value_or(true);
  yarn.amplitude = members.number("attention_factor");
  yarn.mscale = members.number("mscale");
  yarn.mscale_all_dim = members.number("mscale_all_dim");
  return yarn;
}

struct ScalingForm {
  std::string_view name;
  RotaryScaling (*value)(const Members&);
  std::array<std::string_view, 8> keys;  // besides its name
};
constexpr std::array<ScalingForm, 4> scaling_forms{{
    {"linear", linear_scaling, {"factor"}},
    {"dynamic", dynamic_scaling, {"factor", original_length}},
    {"llama3", band_scaling, {"factor", "low_freq_factor", "high_freq_factor", original_length}},
    {"yarn",
     yarn_scaling,
     {"factor", original_length, "beta_fast", "beta_slow", "truncate", "attention_factor", "mscale",
      "mscale_all_dim"}},
}};

RotaryScaling read_scaling(const JsonValue& value, const std::string& pointer) {
  const Members members(expect_object(value, pointer), pointer);
  const char* const key = members.find("rope_type") ? "rope_type" : "type";
  const JsonValue* type = members.find(key);
  if (!type) {
    throw input_error(translated("\"rope_type\" is missing"), members.place("rope_type"),
                      translated("give linear, dynamic, llama3 or yarn"));
  }
  std::vector<std::string_view> names;
  names.reserve(std::size(scaling_forms));
  for (const ScalingForm& form : scaling_forms) names.push_back(form.name);
  const ScalingForm& form =
      scaling_forms[expect_name(*type, members.place(key), translated("rotary scaling"), names)];
  std::vector<std::string_view> known{key};
  for (const std::string_view name : form.keys) {
    if (!name.empty()) known.push_back(name);
  }
  expect_known_keys(value, known, pointer);
  return form.value(members);
}

}  // namespace

NormKind read_norm_kind(const JsonValue& value, const std::string& pointer) {
  return expect_choice(value, pointer, translated("kind of norm"), norm_kinds);
}

// Each member is read though another one could not be; all that is wrong is thrown together.
Rotary read_rotary(const JsonValue& value, const std::string& pointer, DType dtype,
                   TensorSource& tensors) {
  constexpr std::array<std::string_view, 8> known{
      "theta", "width", "interleaved", "scaling", "positions", "key_positions", "cos", "sin"};
  const Members members(expect_object(value, pointer), pointer);
  Problems problems;
  problems.attempt([&] { expect_known_keys(value, known, pointer); });
  Rotary rotary;
  const bool tables = members.find("cos") || members.find("sin");
  for (const char* name : {"theta", "width", "scaling"}) {
    if (!tables || !members.find(name)) continue;
    problems.add(
        input_error(translated("\"{1}\" has no meaning beside given cosines and sines", name),
                    members.place(name), translated("leave it out: the tables say all angles")));
  }
  problems.attempt([&] { rotary.theta = members.number("theta").value_or(rotary.theta); });
  problems.attempt([&] { rotary.width = members.count("width"); });
  problems.attempt([&] { rotary.interleaved = members.boolean("interleaved").value_or(false); });
  if (const JsonValue* scaling = members.find("scaling")) {
    problems.attempt([&] { rotary.scaling = read_scaling(*scaling, members.place("scaling")); });
  }
  // In the order of the document: that is the order in which its random tensors are drawn.
  for (const JsonMember& member : value.members()) {
    const auto read = [&](const char* name, Tensor& tensor, DType type) {
      if (member.key != name) return;
      problems.attempt([&] { tensor = tensors.read(member.value, type, members.place(name)); });
    };
    read("positions", rotary.positions, DType::int64);
    read("key_positions", rotary.key_positions, DType::int64);
    read("cos", rotary.cos, dtype);
    read("sin", rotary.sin, dtype);
  }
  problems.throw_all();
  return rotary;
}

Alibi read_alibi(const JsonValue& value, const std::string& pointer) {
  const auto read_slopes = [](const JsonValue& given, const std::string& at) {
    std::vector<double> slopes;
    if (given.is(JsonValue::Type::boolean) && given.boolean()) return slopes;
    if (!given.is(JsonValue::Type::array) || given.size() == 0) {
      throw input_error(translated("expected true or an array of slopes, found {1}",
                                   given.is(JsonValue::Type::array) ? translated("an empty one")
                                                                    : translated(type_text(given))),
                        at, translated("give true, or one slope a query head such as [0.5, 0.25]"));
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      slopes.push_back(expect_number(given.element(i), pointer_to(at, i)));
    }
    return slopes;
  };
  if (!value.is(JsonValue::Type::object)) return {read_slopes(value, pointer), false};
  constexpr std::array<std::string_view, 2> known{"slopes", "symmetric"};
  const Members members(value, pointer);
  Problems problems;
  problems.attempt([&] { expect_known_keys(value, known, pointer); });
  Alibi alibi;
  if (const JsonValue* slopes = members.find("slopes")) {
    problems.attempt([&] { alibi.slopes = read_slopes(*slopes, members.place("slopes")); });
  }
  problems.attempt([&] { alibi.symmetric = members.boolean("symmetric").value_or(false); });
  problems.throw_all();
  return alibi;
}

RelativeBias read_relative_bias(const JsonValue& value, const std::string& pointer, DType dtype,
                                TensorSource& tensors) {
  constexpr std::array<std::string_view, 4> known{"table", "buckets", "max_distance",
                                                  "bidirectional"};
  const Members members(expect_object(value, pointer), pointer);
  Problems problems;
  problems.attempt([&] { expect_known_keys(value, known, pointer); });
  RelativeBias bias;
  problems.attempt([&] { bias.buckets = members.count("buckets").value_or(bias.buckets); });
  problems.attempt(
      [&] { bias.max_distance = members.count("max_distance").value_or(bias.max_distance); });
  problems.attempt(
      [&] { bias.bidirectional = members.boolean("bidirectional").value_or(bias.bidirectional); });
  if (const JsonValue* table = members.find("table")) {
    problems.attempt([&] { bias.table = tensors.read(*table, dtype, members.place("table")); });
  }
  problems.throw_all();
  return bias;
}

Norm read_head_norm(const JsonValue& value, const std::string& pointer, DType dtype,
                    TensorSource& tensors) {
  constexpr std::array<std::string_view, 3> known{"weight", "bias", "kind"};
  const JsonValue& object = expect_object(value, pointer);
  Problems problems;
  problems.attempt([&] { expect_known_keys(value, known, pointer); });
  Norm norm{.kind = NormKind::rms};
  for (const JsonMember& member : object.members()) {
    const std::string at = pointer_to(pointer, member.key);
    problems.attempt([&] {
      if (member.key == "weight") norm.weight = tensors.read(member.value, dtype, at);
      if (member.key == "bias") norm.bias = tensors.read(member.value, dtype, at);
      if (member.key == "kind") norm.kind = read_norm_kind(member.value, at);
    });
  }
  problems.throw_all();
  return norm;
}

}  // namespace attn
