#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "document/fields.hpp"
#include "document/parameters.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "support/memory.hpp"
#include "support/translated.hpp"
#include "tensor/torch_random.hpp"

namespace attn {
namespace {

constexpr Field init_field{"init", R"("const": "torch")"};
constexpr Field hidden_field{"hidden", R"("type": "integer", "minimum": 1)"};
constexpr std::array<Field, 2> projection_fields{
    {{"bias", R"("type": "boolean")"}, {"output_projection", R"("type": "boolean")"}}};

// Any other members are tensors by their names, or parameters by kind.
std::string parameters_schema() {
  std::string properties;
  const auto add = [&](const Field& field) {
    properties += (properties.empty() ? "" : ", ") + json_string(field.key) + ": {" +
                  field.schema.text() + "}";
  };
  add(init_field);
  add(hidden_field);
  std::ranges::for_each(projection_fields, add);
  std::ranges::for_each(ParameterSet::fields_of_files(), add);
  return R"("type": "object", "description": "tensors by name, a file of them, or how to make them",
      "properties": {)" +
         properties +
         R"(},
      "additionalProperties": {"oneOf": [{"$ref": "#/$defs/tensor"}, {"type": "object"}]})";
}
constexpr auto parameter_schemas =
    std::to_array<SchemaDefinition>({{"parameters", parameters_schema}});

std::size_t width_of(const Tensor& tensor) {
  return tensor.rank() == 0 ? 0 : tensor.shape().back();
}

// Whether the kind's parameters are weights of Linear layers, which PyTorch initialises.
bool drawn(const KindInfo& kind) {
  return std::ranges::all_of(kind.parameters, [](const ParameterInfo& parameter) {
    return parameter.name.ends_with(".weight");
  });
}

// Checks an object with "init" and returns the generator.
TorchRandom& generator_for(const JsonValue& value, const std::string& pointer, const KindInfo& kind,
                           TensorSource& tensors) {
  const std::string at = pointer_to(pointer, "init");
  std::vector<Field> known{init_field};
  if (kind.family != Family::score) {
    known.insert(known.end(), projection_fields.begin(), projection_fields.end());
  } else if (drawn(kind)) {
    known.push_back(hidden_field);
  }
  expect_known_members(value, known_keys(known), pointer);
  constexpr std::array<std::string_view, 1> ways{"torch"};
  const std::string& way = expect_string(*value.find("init"), at);
  if (way != ways[0])
    throw input_error(translated("unknown initialization \"{1}\"", way), at, suggestion(way, ways));
  if (kind.family == Family::score && !drawn(kind)) {
    throw input_error(translated("the parameter of {1} attention cannot be drawn", kind.name), at,
                      translated("give {1} itself", kind.parameters[0].name));
  }
  return tensors.generator(at, translated("the initialization"));
}

}  // namespace

std::span<const SchemaDefinition> parameter_definitions() noexcept {
  return parameter_schemas;
}

TorchInitialisation::TorchInitialisation(const JsonValue& value, const std::string& pointer,
                                         Kind kind, const Sequences& states, DType dtype,
                                         const Tensor& memory, std::size_t layers,
                                         std::optional<std::size_t> feed_forward, bool gated,
                                         TensorSource& tensors)
    : tensors_(tensors),
      pointer_(pointer),
      random_(generator_for(value, pointer, info(kind), tensors)),
      dtype_(dtype),
      gated_(gated) {
  const Family family = info(kind).family;
  encoder_ = kind == Kind::encoder_layer || kind == Kind::transformer;
  decoder_ = kind == Kind::decoder_layer || kind == Kind::transformer;
  if (const JsonValue* bias = value.find("bias"))
    bias_ = expect_boolean(*bias, pointer_to(pointer, "bias"));
  if (const JsonValue* output = value.find("output_projection")) {
    output_ = expect_boolean(*output, pointer_to(pointer, "output_projection"));
  }
  heads_ = states.heads.value_or(1);
  kv_heads_ = states.kv_heads.value_or(heads_);
  query_ = width_of(states.query);
  key_ = width_of(states.key_or_query());
  value_ = width_of(states.value_or_key());
  memory_ = width_of(memory);
  if (family == Family::score) {
    const std::string at = pointer_to(pointer, "hidden");
    const JsonValue* hidden = value.find("hidden");
    if (!hidden) {
      throw input_error(translated("\"hidden\" is missing"), at,
                        translated("give the number of hidden units of {1} attention, such as 8",
                                   info(kind).name));
    }
    hidden_ = static_cast<std::size_t>(expect_integer(*hidden, at, 1));
    // Additive attention compares single heads: tensors without a head axis hold all heads'
    // columns.
    if (states.query.rank() < 4) query_ /= heads_;
    if (states.key_or_query().rank() < 4) key_ /= kv_heads_;
  } else if (family == Family::transformer) {
    if (!feed_forward) {
      throw input_error(
          translated("\"feed_forward\" is missing"), "/feed_forward",
          translated("give the hidden width of the layer's feed-forward part, such as {1}",
                     4 * query_));
    }
    hidden_ = *feed_forward;
  }
  if (family != Family::score && query_ % heads_ != 0) {
    throw input_error(
        translated("the hidden states are {1} wide, which is not divisible by {2} heads", query_,
                   heads_),
        "/heads", translated("choose a number of heads that divides the width"));
  }
  check_size(layers, family);
}

Linear TorchInitialisation::linear(std::size_t outputs, std::size_t inputs) const {
  Linear made;
  made.weight = tensors_.drawn({outputs, inputs}, dtype_, pointer_, [&] {
    return torch_linear_weight(random_, outputs, inputs).converted(dtype_);
  });
  if (bias_) {
    made.bias = tensors_.drawn({outputs}, dtype_, pointer_, [&] {
      return torch_linear_bias(random_, outputs, inputs).converted(dtype_);
    });
  }
  return made;
}

// Refuses too many elements before the first number is drawn.
void TorchInitialisation::check_size(std::size_t layers, Family family) const {
  const auto number = [](std::size_t size) { return static_cast<double>(size); };
  const auto linear = [&](double outputs, double inputs) {
    return outputs * (inputs + (bias_ ? 1 : 0));
  };
  const double query = number(query_), hidden = number(hidden_);
  const double kv_width = number(kv_heads_) * number(query_ / heads_);
  const auto attention = [&](double key, double value) {
    return (output_ ? 2 : 1) * linear(query, query) + linear(kv_width, key) +
           linear(kv_width, value);
  };
  double all = 0;
  if (family == Family::score) {
    all = hidden * (query + number(key_) + 1);
  } else if (family == Family::projected) {
    all = attention(number(key_), number(value_));
  } else {
    const double memory = number(memory_);
    const double layer = attention(query, query) + linear(hidden, query) + linear(query, hidden);
    all = number(layers) *
          ((encoder_ ? layer : 0) + (decoder_ ? layer + attention(memory, memory) : 0));
  }
  check_memory(all * number(size_of(dtype_)), translated("the set of parameters"), pointer_);
  tensors_.check_elements(all, translated("the set of parameters"), pointer_);
  // Each layer has its own tensors, which take memory even if they are small.
  constexpr std::size_t most_layers = 1000;
  if (family == Family::transformer && layers > most_layers) {
    throw input_error(translated("layers is {1}, but the maximum is {2}", layers, most_layers),
                      "/layers", translated("give fewer layers"));
  }
}

void TorchInitialisation::draw(Score& score) const {
  if (query_ == 0 || key_ == 0) return;  // reported as a width that does not fit
  const auto parameters = info(kind_of(score)).parameters;
  const std::vector<Tensor*> tensors = parameters_of(score);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Shape shape = shape_of(parameters[i], query_, key_, hidden_);
    *tensors[i] = tensors_.drawn(shape, dtype_, pointer_, [&] {
      return torch_linear_weight(random_, shape[0], shape[1]).converted(dtype_);
    });
  }
}

Projections TorchInitialisation::attention(std::size_t query, std::size_t key,
                                           std::size_t value) const {
  const std::size_t kv_width = kv_heads_ * (query / heads_);  // within the limits of check_size()
  Projections made;
  made.query = linear(query, query);
  made.key = linear(kv_width, key);
  made.value = linear(kv_width, value);
  if (output_) made.output = linear(query, query);
  return made;
}

Projections TorchInitialisation::projections() const {
  return attention(query_, key_, value_);
}

TransformerLayer TorchInitialisation::layer(bool decoder) const {
  TransformerLayer made;
  made.self_attn = attention(query_, query_, query_);
  if (decoder) made.multihead_attn = attention(query_, memory_, memory_);
  made.linear1 = linear(hidden_, query_);
  made.linear2 = linear(query_, hidden_);
  if (gated_) made.linear3 = linear(hidden_, query_);
  return made;
}

}  // namespace attn
