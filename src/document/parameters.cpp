#include "document/parameters.hpp"

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using Names = std::vector<std::string>;

// Names of the four Linear layers around an attention in tutorials and models; the document's own
// first.
const Names query_names{"W_q", "query", "Q", "q_liner", "q_proj", "to_q"};
const Names key_names{"W_k", "key", "K", "k_liner", "k_proj", "to_k"};
const Names value_names{"W_v", "value", "V", "v_liner", "v_proj", "to_v"};
const Names gate_names{"W_gate"};
const Names output_names{"W_o", "fc_out", "linear", "out_liner", "out_proj", "o_proj", "to_out.0"};

Names with_ending(const std::string& prefix, const Names& names, const std::string& ending) {
  Names full;
  for (const std::string& name : names) full.push_back(prefix + name + ending);
  return full;
}

// torch.nn.MultiheadAttention stacks the weights of query, key and value: [(H + 2 G) d, in].
struct Stacked {
  std::size_t query, key;  // number of rows of the query's part, and of the key's and the value's

  Stacked(const Tensor& weight, const ParameterSet& parameters, const std::string& name,
          std::size_t heads, std::size_t kv_heads) {
    const std::size_t parts = heads + 2 * kv_heads;
    const std::size_t rows = weight.rank() == 2 ? weight.shape()[0] : 0;
    if (rows > 0 && heads == kv_heads && rows % 3 == 0 && rows / 3 % heads != 0) {
      throw input_error(translated("{1} {2} cannot be split into query, key and value of {3} heads",
                                   parameters.shown(name), text(weight.shape()), heads),
                        "/heads",
                        translated("give a number that divides {1}, the width of each", rows / 3));
    }
    if (rows == 0 || rows % parts != 0) {
      const auto what =
          heads == 1 ? translated("{1} {2} cannot be split into query, key and value",
                                  parameters.shown(name), text(weight.shape()))
                     : translated("{1} {2} cannot be split into query, key and value of {3} heads",
                                  parameters.shown(name), text(weight.shape()), heads);
      throw input_error(what, parameters.place(name),
                        translated("give it a number of rows that is a multiple of {1}: heads + "
                                   "2·kv_heads parts of equal size",
                                   parts));
    }
    const std::size_t width = weight.shape()[0] / parts;
    query = heads * width;
    key = kv_heads * width;
  }
};

// The Linear layer of the first of the names that is given.
Linear named_linear(ParameterSet& parameters, const std::string& prefix, const Names& names) {
  for (const std::string& name : names) {
    if (!parameters.has(prefix + name + ".weight")) continue;
    const Names weight{prefix + names[0] + ".weight", prefix + name + ".weight"};
    const Names bias{prefix + names[0] + ".bias", prefix + name + ".bias"};
    Linear linear;
    linear.weight = parameters.find(weight);
    linear.bias = parameters.find(bias);
    return linear;
  }
  return {};
}

// `instead` are alternative full names, for the error if the layer is missing.
Linear given_linear(ParameterSet& parameters, const std::string& prefix, const Names& names,
                    const Names& instead = {}) {
  Linear linear = named_linear(parameters, prefix, names);
  if (linear.weight) return linear;
  Names missing = with_ending(prefix, names, ".weight");
  missing.insert(missing.end(), instead.begin(), instead.end());
  linear.weight = parameters.get(missing);
  return linear;
}

// The weight and bias may both be absent, but a bias requires its weight.
Linear optional_linear(ParameterSet& parameters, const std::string& prefix, const Names& names) {
  Linear linear = named_linear(parameters, prefix, names);
  if (linear.weight) return linear;
  for (const std::string& name : names) {
    if (parameters.has(prefix + name + ".bias")) parameters.get(prefix + name + ".weight");
  }
  return linear;
}

// The parts of in_proj_bias, the biases of query, key and value.
void give_stacked_bias(ParameterSet& parameters, const std::string& prefix, Projections& p) {
  const std::string name = prefix + "in_proj_bias";
  const Tensor bias = parameters.find(name);
  if (!bias) return;
  const auto count = [](const Tensor& weight) {
    return weight.rank() == 0 ? 0 : weight.shape()[0];
  };
  const std::size_t q = count(p.query.weight), k = count(p.key.weight), v = count(p.value.weight);
  if (bias.shape() != Shape{q + k + v}) {
    throw input_error(translated("{1} {2} does not fit: expected {3}", parameters.shown(name),
                                 text(bias.shape()), text({q + k + v})),
                      parameters.place(name),
                      translated("give it one number per row of the query, key and value weights"));
  }
  for (const char* part : {"W_q.bias", "W_k.bias", "W_v.bias"}) {
    parameters.comes_from(prefix + part, name);
  }
  p.query.bias = rows_of(bias, 0, q);
  p.key.bias = rows_of(bias, q, k);
  p.value.bias = rows_of(bias, q + k, v);
}

// Projections in the forms of torch.nn.MultiheadAttention, or as four Linear layers. Tensors are
// requested in the order of construction.
Projections given_projections(ParameterSet& parameters, const std::string& prefix,
                              std::size_t heads, std::size_t kv_heads) {
  for (const Names* names : {&query_names, &key_names, &value_names, &output_names, &gate_names}) {
    parameters.may_ask_for(with_ending(prefix, *names, ".weight"));
    parameters.may_ask_for(with_ending(prefix, *names, ".bias"));
  }
  Projections p;
  const std::string stacked = prefix + "in_proj_weight";
  if (const Tensor weight = parameters.find(stacked)) {
    const Stacked parts(weight, parameters, stacked, heads, kv_heads);
    p.query.weight = rows_of(weight, 0, parts.query);
    p.key.weight = rows_of(weight, parts.query, parts.key);
    p.value.weight = rows_of(weight, parts.query + parts.key, parts.key);
    const auto name_part = [&](const char* name, const char* part) {
      parameters.is_part(prefix + name, stacked,
                         translated("the {1} part of {2}", part, parameters.shown(stacked)));
    };
    name_part("W_q.weight", "query");
    name_part("W_k.weight", "key");
    name_part("W_v.weight", "value");
    give_stacked_bias(parameters, prefix, p);
  } else if (parameters.has(prefix + "q_proj_weight")) {
    const auto part = [&](const char* ours, const char* theirs) {
      const Names names{prefix + theirs};
      Tensor found = parameters.get(names);
      parameters.is_part(prefix + ours, names[0], parameters.shown(names[0]));
      return found;
    };
    p.query.weight = part("W_q.weight", "q_proj_weight");
    p.key.weight = part("W_k.weight", "k_proj_weight");
    p.value.weight = part("W_v.weight", "v_proj_weight");
    give_stacked_bias(parameters, prefix, p);
  } else {
    p.query = given_linear(parameters, prefix, query_names, {stacked, prefix + "q_proj_weight"});
    p.key = given_linear(parameters, prefix, key_names);
    p.value = given_linear(parameters, prefix, value_names);
  }
  p.output = optional_linear(parameters, prefix, output_names);
  p.gate = optional_linear(parameters, prefix, gate_names);
  return p;
}

// The structure of a document's layers.
struct LayerForm {
  bool decoder, gated;
  NormKind norm_kind;
  std::size_t heads, kv_heads;
};

Norm given_norm(ParameterSet& parameters, const std::string& name, NormKind kind,
                std::vector<std::string>& warnings) {
  Norm norm{parameters.find(name + ".weight"), {}, kind};
  if (kind == NormKind::layer) norm.bias = parameters.find(name + ".bias");
  if (!norm.weight && !norm.bias) {
    warnings.push_back(
        translated("the parameters have no {1}{2}", parameters.shown(name + ".weight"),
                   kind == NormKind::layer
                       ? translated(": that norm only takes mean and variance away")
                       : translated(": that norm only divides by the root of the mean square")));
  }
  return norm;
}

TransformerLayer given_layer(ParameterSet& parameters, const std::string& prefix,
                             const LayerForm& form, std::vector<std::string>& warnings) {
  const auto [decoder, gated, norm_kind, heads, kv_heads] = form;
  TransformerLayer layer;
  layer.self_attn = given_projections(parameters, prefix + "self_attn.", heads, kv_heads);
  layer.norm1 = given_norm(parameters, prefix + "norm1", norm_kind, warnings);
  if (decoder) {
    layer.multihead_attn =
        given_projections(parameters, prefix + "multihead_attn.", heads, kv_heads);
    layer.norm2 = given_norm(parameters, prefix + "norm2", norm_kind, warnings);
  }
  layer.linear1 = given_linear(parameters, prefix, {"linear1"});
  layer.linear2 = given_linear(parameters, prefix, {"linear2"});
  if (gated) layer.linear3 = given_linear(parameters, prefix, {"linear3"});
  Norm& last = decoder ? layer.norm3 : layer.norm2;
  last = given_norm(parameters, prefix + (decoder ? "norm3" : "norm2"), norm_kind, warnings);
  return layer;
}

// The norm after the last layer of a stack, if there is one.
std::optional<Norm> given_last_norm(ParameterSet& parameters, const std::string& prefix,
                                    NormKind kind) {
  const std::string name = prefix + "norm";
  if (!parameters.has(name + ".weight") && !parameters.has(name + ".bias")) return std::nullopt;
  Norm norm{parameters.find(name + ".weight"), {}, kind};
  if (kind == NormKind::layer) norm.bias = parameters.find(name + ".bias");
  return norm;
}

void warn_of_more_layers(const ParameterSet& parameters, std::string_view stack, std::size_t layers,
                         std::vector<std::string>& warnings) {
  if (!parameters.has(layer_prefix(stack, layers) + "linear1.weight")) return;
  warnings.push_back(
      translated("the parameters hold more layers than the {1} that are computed: \"layers\" "
                 "sets their number",
                 layers));
}

// Throws Error(input) for a number of layers of which the parameters hold the first ones alone.
void check_layer_count(const ParameterSet& parameters, std::string_view stack, std::size_t layers) {
  const auto holds = [&](std::size_t layer) {
    const std::string prefix = layer_prefix(stack, layer);
    return parameters.has(prefix + "linear1.weight") || parameters.has(prefix + "linear2.weight") ||
           parameters.has(prefix + "self_attn.in_proj_weight");
  };
  std::size_t found = 0;
  while (found < layers && holds(found)) ++found;
  if (found == 0 || found == layers) return;
  throw input_error(translated("the parameters hold {1}, and \"layers\" is {2}",
                               translated_count(found, "{1} layer", "{1} layers"), layers),
                    "/layers", translated("write \"layers\": {1}", found));
}

// An encoder's layers have no attention to a memory, and one norm less.
void warn_of_decoder(const ParameterSet& parameters, const std::string& prefix, bool decoder,
                     std::vector<std::string>& warnings) {
  const std::string cross = prefix + "multihead_attn.in_proj_weight",
                    norm = prefix + "norm3.weight";
  if (decoder || !(parameters.has(cross) || parameters.has(norm))) return;
  warnings.push_back(
      translated("the parameters are those of decoder layers: {1} has no part in an encoder_layer; "
                 "\"attention\": \"decoder_layer\", with a \"memory\", computes all of them",
                 parameters.shown(parameters.has(cross) ? cross : norm)));
}

// Reads the layers `layers.0.…`, `layers.1.…`; a single one may have bare names.
std::vector<TransformerLayer> given_layers(ParameterSet& parameters, const LayerForm& form,
                                           std::size_t layers, std::vector<std::string>& warnings) {
  warn_of_more_layers(parameters, "", layers, warnings);
  std::vector<TransformerLayer> result;
  if (layers == 1) {
    if (parameters.has(layer_prefix("", 0) + "linear1.weight"))
      parameters.enter(layer_prefix("", 0));
    warn_of_decoder(parameters, "", form.decoder, warnings);
    result.push_back(given_layer(parameters, "", form, warnings));
    return result;
  }
  if (parameters.has("linear1.weight")) {
    throw input_error(
        translated("the parameters are those of one layer, but layers is {1}", layers),
        parameters.place("linear1.weight"),
        translated("put \"{1}\", \"{2}\"… before the names of each layer", layer_prefix("", 0),
                   layer_prefix("", 1)));
  }
  check_layer_count(parameters, "", layers);
  warn_of_decoder(parameters, layer_prefix("", 0), form.decoder, warnings);
  for (std::size_t i = 0; i < layers; ++i)
    result.push_back(given_layer(parameters, layer_prefix("", i), form, warnings));
  return result;
}

// One stack of torch.nn.Transformer: all its layers unless their number is given, at least one.
std::vector<TransformerLayer> given_stack(ParameterSet& parameters, const LayerForm& form,
                                          std::optional<std::size_t> layers,
                                          std::vector<std::string>& warnings) {
  const std::string_view stack = form.decoder ? "decoder" : "encoder";
  if (layers) warn_of_more_layers(parameters, stack, *layers, warnings);
  if (layers) check_layer_count(parameters, stack, *layers);
  std::vector<TransformerLayer> result;
  const auto follows = [&] {
    return layers ? result.size() < *layers
                  : result.empty() ||
                        parameters.has(layer_prefix(stack, result.size()) + "linear1.weight");
  };
  while (follows())
    result.push_back(given_layer(parameters, layer_prefix(stack, result.size()), form, warnings));
  return result;
}

// Layers drawn one after the other, an encoder's first. Norms are ones and zeros.
void draw_layers(const TorchInitialisation& start, Kind kind, std::size_t layers,
                 NormKind norm_kind, LearnedWeights& learned) {
  const auto stack = [&](bool decoder) {
    std::vector<TransformerLayer> made;
    for (std::size_t i = 0; i < layers; ++i) {
      TransformerLayer& layer = made.emplace_back(start.layer(decoder));
      layer.norm1.kind = layer.norm2.kind = layer.norm3.kind = norm_kind;
    }
    return made;
  };
  if (kind == Kind::transformer) {
    learned.last_norm = Norm{{}, {}, norm_kind};
    learned.encoder = EncoderStack{stack(false), learned.last_norm, {}};
  }
  learned.layers = stack(kind != Kind::encoder_layer);
}

// The layers of a document, with the norms after the last ones.
void read_layers(ParameterSet& parameters, Kind kind, LayerForm form,
                 std::optional<std::size_t> layers, LearnedWeights& learned) {
  if (kind == Kind::transformer) {
    form.decoder = false;
    EncoderStack& encoder = learned.encoder.emplace();
    encoder.layers = given_stack(parameters, form, layers, learned.warnings);
    encoder.last_norm = given_last_norm(parameters, "encoder.", form.norm_kind);
    form.decoder = true;
    learned.layers = given_stack(parameters, form, layers, learned.warnings);
    learned.last_norm = given_last_norm(parameters, "decoder.", form.norm_kind);
    return;
  }
  learned.last_norm = given_last_norm(parameters, "", form.norm_kind);
  learned.layers = given_layers(parameters, form, layers.value_or(1), learned.warnings);
}

}  // namespace

LearnedWeights read_parameters(const JsonValue* value, const std::string& pointer, Kind kind,
                               const Sequences& states, DType dtype, const Tensor& memory,
                               std::optional<std::size_t> layers,
                               std::optional<std::size_t> feed_forward, bool gated,
                               NormKind norm_kind, TensorSource& tensors) {
  LearnedWeights learned;
  learned.score = score_of(kind);
  const KindInfo& row = info(kind);
  const bool transformer = row.family == Family::transformer;
  if (row.parameters.empty() && !transformer) return learned;
  if (!value) {
    // Reported with the expected shapes.
    if (row.family == Family::score && pointer == "/parameters") return learned;
    throw input_error(
        translated("the parameters are missing"), pointer,
        translated(
            "give the learned weights, a file of them, or {\"init\": \"torch\"} with a seed"));
  }
  if (expect_object(
          *value, pointer,
          value->is(JsonValue::Type::string) && value->string().find('.') != std::string::npos
              ? translated("write {1}", "{\"file\": " + in_quotes(value->string()) + "}")
              : translated("write {\"init\": \"torch\"}, or the learned weights"))
          .find("init")) {
    const TorchInitialisation start(*value, pointer, kind, states, widened(dtype), memory,
                                    layers.value_or(1), feed_forward, gated, tensors);
    if (transformer) {
      draw_layers(start, kind, layers.value_or(1), norm_kind, learned);
    } else if (row.family == Family::projected) {
      learned.projections = start.projections();
    } else {
      start.draw(learned.score);
    }
    return learned;
  }
  ParameterSet parameters(*value, pointer, dtype, tensors);
  const std::size_t heads = states.heads.value_or(1), kv_heads = states.kv_heads.value_or(heads);
  if (transformer) {
    const LayerForm form{kind == Kind::decoder_layer, gated, norm_kind, heads, kv_heads};
    read_layers(parameters, kind, form, layers, learned);
  } else if (row.family == Family::projected) {
    learned.projections = given_projections(parameters, "", heads, kv_heads);
    // A past may hold these rows, too.
    if (!states.past_key && parameters.has("bias_k")) {
      learned.bias_k = parameters.get({"bias_k"});
      learned.bias_v = parameters.get({"bias_v"});
    }
  } else {
    const std::vector<Tensor*> of_score = parameters_of(learned.score);
    for (std::size_t i = 0; i < of_score.size(); ++i) {
      *of_score[i] = parameters.find(std::string(row.parameters[i].name));
    }
  }
  parameters.expect_complete();
  learned.names = parameters.names();
  learned.origins = parameters.origins();
  return learned;
}

}  // namespace attn
