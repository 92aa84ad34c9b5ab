#include "document/option_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/named.hpp"

#include "attention/expression.hpp"
#include "document/fields.hpp"
#include "io/number_array.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using After = ObjectReader::After;

constexpr auto norm_kinds =
    std::to_array<Named<NormKind>>({{"layer", NormKind::layer}, {"rms", NormKind::rms}});
constexpr auto reductions = std::to_array<Named<Pooling::Reduction>>(
    {{"mean", Pooling::Reduction::mean}, {"max", Pooling::Reduction::max}});

// Types of members that are no plain numbers.

/// A side of a window; absent, in documents -1, is all keys.
struct Reach {
  std::optional<std::size_t> keys;
};
struct Probability {
  double value = 0;
};
constexpr const char* probability_help =
    to_translate("give the probability to drop a weight, such as 0.1");

// true, a list of numbers, or any tensor [H] or [B,H].
void read_slopes(const JsonValue& given, const std::string& place, TensorSource& tensors,
                 Alibi& alibi) {
  if (given.is(JsonValue::Type::boolean) && given.boolean()) return;
  const bool list = given.is(JsonValue::Type::array) && given.size() > 0;
  if (!list && !given.is(JsonValue::Type::object)) {
    throw input_error(translated("expected true or an array of slopes, found {1}",
                                 given.is(JsonValue::Type::array) ? translated("an empty one")
                                                                  : translated(type_text(given))),
                      place,
                      translated("give true, or one slope per query head such as [0.5, 0.25]"));
  }
  const Tensor slopes = tensors.read(given, DType::float64, place);
  if (slopes.rank() > 2) {
    throw input_error(
        translated("the slopes {1} have {2} axes", text(slopes.shape()), slopes.rank()), place,
        translated("give one slope per query head, [H], or per sample, [B,H]"));
  }
  if (slopes.rank() == 2) alibi.samples = slopes.shape()[0];
  // A shape alone stands for slopes that are drawn.
  alibi.slopes.assign(slopes.size(), 0);
  if (!is_shape_only(slopes)) std::ranges::copy(slopes.values<double>(), alibi.slopes.begin());
}

RotaryScaling read_scaling(const JsonValue& value, const std::string& place);

}  // namespace

template <>
struct FieldType<NormKind> {
  static constexpr Schema schema = norm_kind_schema;
  static NormKind read(const JsonValue& value, const std::string& place) {
    return read_norm_kind(value, place);
  }
};
template <>
struct FieldType<Pooling::Reduction> {
  static constexpr Schema schema = +[] { return names_schema(reductions); };
  static Pooling::Reduction read(const JsonValue& value, const std::string& place) {
    return expect_choice(value, place, "reduction", reductions);
  }
};
template <>
struct FieldType<Reach> {
  static constexpr Schema schema = R"("type": "integer", "minimum": -1)";
  static Reach read(const JsonValue& value, const std::string& place) {
    if (value.is(JsonValue::Type::null)) {
      throw input_error(translated("expected a number, found null"), place,
                        translated("leave it out, or write -1, for all keys on that side"));
    }
    const std::int64_t reach = expect_integer(value, place, -1);
    return reach < 0 ? Reach{} : Reach{static_cast<std::size_t>(reach)};
  }
};
template <>
struct FieldType<Probability> {
  static constexpr Schema schema = R"("type": "number", "minimum": 0, "maximum": 1)";
  static Probability read(const JsonValue& value, const std::string& place) {
    const double number = expect_number(value, place);
    if (number >= 0 && number <= 1) return {number};
    throw input_error(translated("the probability {1} is not between 0 and 1", number_text(number)),
                      place, translated(probability_help));
  }
};
template <>
struct FieldType<std::vector<double>> {
  static constexpr Schema schema = R"("$ref": "#/$defs/slopes")";
};
template <>
struct FieldType<RotaryScaling> {
  static constexpr Schema schema = R"("$ref": "#/$defs/scaling")";
  static RotaryScaling read(const JsonValue& value, const std::string& place) {
    return read_scaling(value, place);
  }
};

namespace {

// 1. The fields of each object.

constexpr const char* missing_in_scaling = to_translate("\"{1}\" is missing");
constexpr const char* missing_in_scaling_help =
    to_translate("give it as the model's configuration does");
constexpr Field scaling_field(std::string_view key) {
  return {key, {}, true, missing_in_scaling, missing_in_scaling_help};
}
constexpr Field scaling_factor = scaling_field("factor"),
                original_length = scaling_field("original_max_position_embeddings");

constexpr auto linear_fields = [](const auto& visit, LinearScaling& scaling) {
  visit(scaling_factor, scaling.factor);
};
constexpr auto dynamic_fields = [](const auto& visit, DynamicScaling& scaling) {
  visit(scaling_factor, scaling.factor);
  visit(original_length, scaling.original);
};
constexpr auto band_fields = [](const auto& visit, BandScaling& scaling) {
  visit(scaling_factor, scaling.factor);
  visit(scaling_field("low_freq_factor"), scaling.low);
  visit(scaling_field("high_freq_factor"), scaling.high);
  visit(original_length, scaling.original);
};
constexpr auto yarn_fields = [](const auto& visit, YarnScaling& scaling) {
  visit(scaling_factor, scaling.factor);
  visit(original_length, scaling.original);
  visit({"beta_fast"}, scaling.beta_fast);
  visit({"beta_slow"}, scaling.beta_slow);
  visit({"truncate"}, scaling.truncate);
  visit({"attention_factor"}, scaling.amplitude);
  visit({"mscale"}, scaling.mscale);
  visit({"mscale_all_dim"}, scaling.mscale_all_dim);
};
constexpr auto rotary_fields = [](const auto& visit, Rotary& rotary) {
  visit({"theta", R"("type": "number", "exclusiveMinimum": 0)"}, rotary.theta);
  visit({"width", R"("type": "integer", "minimum": 2)"}, rotary.width);
  visit({"interleaved"}, rotary.interleaved);
  visit({"scaling"}, rotary.scaling);
  visit({"positions"}, rotary.positions, DType::int64);
  visit({"key_positions"}, rotary.key_positions, DType::int64);
  visit({"cos"}, rotary.cos);
  visit({"sin"}, rotary.sin);
};
constexpr auto alibi_fields = [](const auto& visit, Alibi& alibi) {
  visit({"slopes"}, alibi.slopes);
  visit({"symmetric"}, alibi.symmetric);
};
constexpr auto relative_bias_fields = [](const auto& visit, RelativeBias& bias) {
  visit({"table", {}, true}, bias.table);
  visit({"buckets", R"("type": "integer", "minimum": 2)"}, bias.buckets);
  visit({"max_distance"}, bias.max_distance);
  visit({"bidirectional"}, bias.bidirectional);
};
// The norm of heads, an RMS norm unless the document has another kind.
struct HeadNorm : Norm {
  HeadNorm() { kind = NormKind::rms; }
};
constexpr auto head_norm_fields = [](const auto& visit, Norm& norm) {
  visit({"weight", {}, true}, norm.weight);
  visit({"bias"}, norm.bias);
  visit({.key = "kind", .in_turn = true}, norm.kind);
};

constexpr auto linear_rule_fields = [](const auto& visit, LinearRule& rule) {
  visit({"decay"}, rule.decay);
  visit({"beta"}, rule.beta);
  visit({"past_state"}, rule.past_state);
};

struct WindowSides {
  Reach left, right;
};
constexpr auto window_fields = [](const auto& visit, WindowSides& window) {
  visit({"left"}, window.left);
  visit({"right"}, window.right);
};
constexpr auto pooling_fields = [](const auto& visit, Pooling& pooling) {
  visit({"size",
         {},
         true,
         to_translate("pool has no size"),
         to_translate("give the largest number of bins of queries and keys, such as 1024")},
        pooling.size);
  visit({"reduction"}, pooling.reduction);
};
struct Gradient {
  Tensor output;
};
constexpr auto gradient_fields = [](const auto& visit, Gradient& gradient) {
  visit({"output",
         {},
         true,
         to_translate("the gradient has no output"),
         to_translate("give the gradient of the output, in its shape")},
        gradient.output);
};
struct GivenDropout {
  Probability p;
  bool training = false;
};
constexpr auto dropout_fields = [](const auto& visit, GivenDropout& dropout) {
  visit({"p", {}, true, to_translate("dropout has no p"), probability_help}, dropout.p);
  visit({"training"}, dropout.training);
};

// 2. Scalings of rotary frequencies: an object with the name of its form and the form's fields.

struct ScalingForm {
  std::string_view name;
  RotaryScaling (*read)(std::string_view name_key, const JsonValue& value,
                        const std::string& place);
  std::string (*schema)(std::string_view name);
};

template <class Scaling, const auto& fields>
RotaryScaling scaling_from(std::string_view name_key, const JsonValue& value,
                           const std::string& place) {
  struct Form {
    std::string name;
    Scaling scaling;
  };
  const auto all_fields = [&](const auto& visit, Form& form) {
    visit({name_key}, form.name);
    fields(visit, form.scaling);
  };
  return read_object<Form>(all_fields, value, place, After::problem_goes_on).scaling;
}

template <class Scaling, const auto& fields>
std::string form_schema(std::string_view name) {
  const std::string value = R"(": {"const": )" + json_string(name) + "}, ";
  return object_schema<Scaling>(fields, "\"rope_type" + value + "\"type" + value);
}

template <class Scaling, const auto& fields>
constexpr ScalingForm scaling_form(std::string_view name) {
  return {name, scaling_from<Scaling, fields>, form_schema<Scaling, fields>};
}
constexpr std::array scaling_forms{scaling_form<LinearScaling, linear_fields>("linear"),
                                   scaling_form<DynamicScaling, dynamic_fields>("dynamic"),
                                   scaling_form<BandScaling, band_fields>("llama3"),
                                   scaling_form<YarnScaling, yarn_fields>("yarn")};

RotaryScaling read_scaling(const JsonValue& value, const std::string& place) {
  const char* const key =
      expect_object(value, place).find("rope_type") != nullptr ? "rope_type" : "type";
  const JsonValue* type = value.find(key);
  if (type == nullptr) {
    throw input_error(translated(missing_in_scaling, "rope_type"), pointer_to(place, "rope_type"),
                      translated("give linear, dynamic, llama3 or yarn"));
  }
  std::vector<std::string_view> names;
  names.reserve(scaling_forms.size());
  for (const ScalingForm& form : scaling_forms) names.push_back(form.name);
  const std::string type_place = pointer_to(place, key);
  return scaling_forms[expect_name(*type, type_place, translated("rotary scaling"), names)].read(
      key, value, place);
}

// 3. Schemas that keys refer to.

std::string scaling_schema() {
  std::string forms;
  for (const ScalingForm& form : scaling_forms)
    forms += (forms.empty() ? "{" : ", {") + form.schema(form.name) + "}";
  return "\"oneOf\": [" + forms + "]";
}

constexpr auto option_schemas = std::to_array<SchemaDefinition>({
    {"scaling", scaling_schema},
    {"rotary", +[] { return object_schema<Rotary>(rotary_fields); }},
    {"slopes", R"("oneOf": [{"const": true}, {"$ref": "#/$defs/tensor"}])"},
    {"alibi",
     +[] {
       return R"("oneOf": [{"$ref": "#/$defs/slopes"}, {)" + object_schema<Alibi>(alibi_fields) +
              "}]";
     }},
    {"relative_bias", +[] { return object_schema<RelativeBias>(relative_bias_fields); }},
    {"head_norm", +[] { return object_schema<HeadNorm>(head_norm_fields); }},
    {"linear_rule", +[] { return object_schema<LinearRule>(linear_rule_fields); }},
    {"dropout", +[] { return object_schema<GivenDropout>(dropout_fields); }},
});

// Help for a window that is written as numbers: both of its sides, [3,0], one number, 3 or [3], or
// others.
std::string meant_window(const JsonValue& value) {
  const auto written = [](double left, double right) {
    return "{\"left\": " + number_text(left) + ", \"right\": " + number_text(right) + "}";
  };
  const bool list = value.is(JsonValue::Type::array);
  const auto is_number = [&](std::size_t i) {
    return list && value.element(i).is(JsonValue::Type::number);
  };
  if (list && value.size() == 2 && is_number(0) && is_number(1)) {
    return translated("write {1}", written(value.element(0).number(), value.element(1).number()));
  }
  const JsonValue& one = list && value.size() == 1 ? value.element(0) : value;
  if (one.is_integer() && one.number() >= 1) {
    const double keys = one.number();
    return translated(
        "write {1} for {2} keys before and {2} after a query, or {3} for a window of {2}, which "
        "counts the query itself",
        written(keys, keys), number_text(keys), written(keys - 1, 0));
  }
  return translated(
      "write {\"left\": …, \"right\": …}, the keys seen before and after a query; -1 is all of "
      "them");
}

}  // namespace

std::span<const SchemaDefinition> option_definitions() noexcept {
  return option_schemas;
}
std::string norm_kind_schema() {
  return names_schema(norm_kinds);
}
std::string window_schema() {
  return object_schema<WindowSides>(window_fields);
}
std::string pooling_schema() {
  return R"("oneOf": [{"type": "integer", "minimum": 1}, {)" +
         object_schema<Pooling>(pooling_fields) + "}]";
}
std::string output_gradient_schema() {
  return object_schema<Gradient>(gradient_fields);
}

// 4. Reading.

NormKind read_norm_kind(const JsonValue& value, const std::string& place) {
  return expect_choice(value, place, translated("kind of norm"), norm_kinds);
}

Rotary read_rotary(const JsonValue& value, const std::string& place, DType dtype,
                   TensorSource& tensors) {
  expect_object(value, place, translated("write {\"theta\": 10000}, or {}"));
  ObjectReader reader(value, place);
  reader.check_keys<Rotary>(rotary_fields);
  const bool tables = reader.find("cos") != nullptr || reader.find("sin") != nullptr;
  for (const char* name : {"theta", "width", "scaling"}) {
    if (!tables || reader.find(name) == nullptr) continue;
    reader.attempt([&] {
      throw input_error(
          translated("\"{1}\" has no meaning where cosines and sines are given", name),
          reader.place(name), translated("leave it out: the tables say all angles"));
    });
  }
  Rotary rotary;
  const ObjectReader::Tensors from{tensors, dtype};
  reader.read_members(rotary_fields, rotary, &from);
  reader.finish();
  return rotary;
}

Alibi read_alibi(const JsonValue& value, const std::string& place, TensorSource& tensors) {
  Alibi alibi;
  if (!value.is(JsonValue::Type::object) || describes_tensor(value)) {
    read_slopes(value, place, tensors, alibi);
    return alibi;
  }
  ObjectReader reader(value, place);
  reader.check_keys<Alibi>(alibi_fields);
  reader.attempt([&] {
    if (const JsonValue* slopes = reader.find("slopes"))
      read_slopes(*slopes, reader.place("slopes"), tensors, alibi);
  });
  reader.attempt([&] {
    if (const JsonValue* symmetric = reader.find("symmetric"))
      alibi.symmetric = FieldType<bool>::read(*symmetric, reader.place("symmetric"));
  });
  reader.finish();
  return alibi;
}

RelativeBias read_relative_bias(const JsonValue& value, const std::string& place, DType dtype,
                                TensorSource& tensors) {
  const ObjectReader::Tensors from{tensors, dtype};
  return read_object<RelativeBias>(relative_bias_fields, value, place, After::problem_goes_on,
                                   &from);
}

Norm read_head_norm(const JsonValue& value, const std::string& place, DType dtype,
                    TensorSource& tensors) {
  const ObjectReader::Tensors from{tensors, dtype};
  return read_object<HeadNorm>(head_norm_fields, value, place, After::problem_goes_on, &from);
}

LinearRule read_linear_rule(const JsonValue& value, const std::string& place, DType dtype,
                            TensorSource& tensors) {
  const ObjectReader::Tensors from{tensors, dtype};
  return read_object<LinearRule>(linear_rule_fields, value, place, After::problem_goes_on, &from);
}

Window read_window(const JsonValue& value, const std::string& place) {
  if (!value.is(JsonValue::Type::object)) {
    throw input_error(translated("expected an object, found {1}", translated(type_text(value))),
                      place, meant_window(value));
  }
  const auto sides = read_object<WindowSides>(window_fields, value, place, After::problem_ends);
  return {sides.left.keys, sides.right.keys};
}

std::span<const Named<Pooling::Reduction>> pooling_reductions() noexcept {
  return reductions;
}

std::string expect_expression(const JsonValue& value, const std::string& place) {
  const std::string example = "s - 0.1 * abs(i - j)";
  std::string text = expect_string(
      value, place,
      value.is(JsonValue::Type::array)
          ? translated("give an expression such as \"{1}\", or numbers as \"scores\"", example)
          : "");
  if (!text.empty()) return text;
  throw input_error(translated("the expression is empty"), place,
                    translated("give one such as {1}", example));
}

namespace {

// Throws for the first number that is written as an integer which double precision may round.
void check_written(const JsonValue& value, const std::string& place) {
  if (value.is_large_integer()) {
    throw rounded_integer(
        value.is_integer() ? std::to_string(value.integer()) : number_text(value.number()), place);
  }
  // A block that can be read as doubles has no integer of over 15 digits.
  if (const NumberBlock* block = value.block(); block != nullptr && block->as(DType::float64))
    return;
  if (value.is(JsonValue::Type::array)) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      check_written(value.element(i), pointer_to(place, i));
    }
  }
  if (!value.is(JsonValue::Type::object)) return;
  for (const char* member : {"data", "value"}) {
    if (const JsonValue* of = value.find(member)) check_written(*of, pointer_to(place, member));
  }
}

}  // namespace

Tables read_tables(const JsonValue& value, const std::string& place, TensorSource& tensors) {
  Tables tables;
  const std::string help = translated("give each table a name, such as {\"slope\": [0.5, 0.25]}");
  for (const JsonMember& member : expect_object(value, place, help).members()) {
    const std::string at = pointer_to(place, member.key);
    check_written(member.value, at);
    if (member.value.is(JsonValue::Type::number)) {
      tables.emplace_back(member.key, Tensor(Shape{}, std::vector<double>{member.value.number()}));
    } else {
      const JsonValue* first = &member.value;
      while (first->is(JsonValue::Type::array) && first->size() > 0) first = &first->element(0);
      const bool flags = first->is(JsonValue::Type::boolean);
      tables.emplace_back(member.key,
                          tensors.read(member.value, flags ? DType::boolean : DType::float64, at,
                                       TensorSource::Integers::kept));
    }
  }
  check_tables({"", tables});
  return tables;
}

Pooling read_pooling(const JsonValue& value, const std::string& place) {
  if (!value.is(JsonValue::Type::object)) return {FieldType<std::size_t>::read(value, place)};
  return read_object<Pooling>(pooling_fields, value, place, After::problem_ends);
}

Tensor read_output_gradient(const JsonValue& value, const std::string& place, DType dtype,
                            TensorSource& tensors) {
  const ObjectReader::Tensors from{tensors, dtype};
  return read_object<Gradient>(gradient_fields, value, place, After::problem_ends, &from).output;
}

std::optional<double> read_dropout(const JsonValue& value, const std::string& place) {
  if (value.is(JsonValue::Type::number)) {
    throw input_error(
        translated("expected an object, found a number"), place,
        translated("write {\"p\": …, \"training\": true}; without training nothing is dropped"));
  }
  const auto dropout = read_object<GivenDropout>(dropout_fields, value, place, After::problem_ends);
  return dropout.training ? std::optional(dropout.p.value) : std::nullopt;
}

Dropout torch_dropout(double p, const TorchRandom& random, bool in_turn) {
  const auto own = std::make_shared<TorchRandom>(random);
  return {p, [own, p, in_turn](const Shape& shape) {
            std::vector<std::uint8_t> kept(element_count(shape));
            TorchRandom again = *own;
            (in_turn ? *own : again).bernoulli(kept, 1 - p);
            return Tensor(shape, std::move(kept));
          }};
}

}  // namespace attn
