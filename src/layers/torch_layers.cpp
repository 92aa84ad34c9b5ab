#include "layers/torch_layers.hpp"

#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "attention/linear.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

void check_adds_up(const Shape& output, const Shape& x, const std::string& prefix,
                   const std::string& name) {
  if (output == x) return;
  throw input_error(translated("{1}{2} gives {3}, which cannot be added to the hidden states {4}",
                               prefix, name, text(output), text(x)),
                    "/parameters/" + prefix + name,
                    translated("give it as many rows as the hidden states are wide"));
}

// linear3 is there if the feed-forward has a gate, and as wide as linear1, which it is multiplied
// by.
void check_gate(const TransformerRequest& request, const TransformerLayer& layer, const Shape& x,
                const Shape& wide, const std::string& prefix) {
  const std::string name = prefix + "linear3.weight";
  if (!request.gated) {
    if (!layer.linear3.weight) return;
    throw input_error(
        translated("{1} has no meaning for this activation", name), "/parameters/" + name,
        translated("leave it out, or choose a gated activation: swiglu, geglu, geglu_tanh, reglu"));
  }
  if (check_linear(layer.linear3, x, prefix, "linear3") == wide) return;
  throw input_error(
      translated(
          "{1} {2} and {3}linear1.weight {4}, which it is multiplied with, have different shapes",
          name, text(layer.linear3.weight.shape()), prefix, text(layer.linear1.weight.shape())),
      "/parameters/" + name, translated("give both the same number of rows"));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// An error of a cross-attention with its keys and mask named as the request names them.
Error renamed_for_memory(const Error& error) {
  const std::string problem = replaced(error.problem(), "key [", "memory [");
  std::string where = error.where();
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"/key", "/memory"},
                                 {"/value", "/memory"},
                                 {"/mask", "/memory_mask"},
                                 {"/valid_lens", "/memory_valid_lens"}}) {
    if (where == from || where.starts_with(from + "/")) where.replace(0, from.size(), to);
  }
  return {error.kind(), problem, where, error.help()};
}

// An error of an encoder with its states and mask named as the request names them.
Error renamed_for_source(const Error& error) {
  std::string where = error.where();
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"/query", "/memory"},
                                 {"/mask", "/source_mask"},
                                 {"/valid_lens", "/source_valid_lens"}}) {
    if (where == from || where.starts_with(from + "/")) where.replace(0, from.size(), to);
  }
  return {error.kind(), replaced(error.problem(), "query [", "memory ["), where, error.help()};
}

// The shape of x, whose batch axis of 1 is repeated if the memory has more samples.
Shape states_shape(const TransformerRequest& request) {
  Shape shape = request.x.shape();
  const Shape& memory = request.memory.shape();
  if (request.decoder && shape.size() == 3 && memory.size() == 3 && shape[0] == 1) {
    shape[0] = memory[0];
  }
  return shape;
}

// The options of another attention than the self-attention: its mask, and nothing that is of the
// states themselves.
AttentionOptions other_options(const TransformerRequest& request, const Mask& mask) {
  AttentionOptions options = request;
  options.mask = mask;
  options.rotary.reset();
  options.query_norm.reset();
  options.key_norm.reset();
  options.relative_bias.reset();
  options.sinks = {};
  options.score_expression = options.weight_expression = {};
  options.gate = {};
  return options;
}

// The attentions of a layer over hidden states x, as check_projected() takes them.
ProjectedAttentionRequest self_attention(const TransformerRequest& request,
                                         const TransformerLayer& layer, const Tensor& x) {
  ProjectedAttentionRequest self{request, {x}, layer.self_attn};
  self.states.heads = request.heads;
  self.states.kv_heads = request.kv_heads;
  return self;
}

ProjectedAttentionRequest cross_attention(const TransformerRequest& request,
                                          const TransformerLayer& layer, const Tensor& x) {
  ProjectedAttentionRequest cross = self_attention(request, layer, x);
  static_cast<AttentionOptions&>(cross) = other_options(request, request.memory_mask);
  cross.projections = layer.multihead_attn;
  cross.states.key = cross.states.value = request.memory;
  return cross;
}

}  // namespace

std::vector<LayerGeometry> check_transformer(const TransformerRequest& request) {
  if (!(std::isfinite(request.eps) && request.eps > 0)) {
    throw input_error(translated("eps is not a finite positive number"), "/eps",
                      translated("give a small positive number such as 1e-5"));
  }
  if (is_half(request.dtype)) {
    throw input_error(translated("layers are not computed in {1}", name(request.dtype)), "/dtype",
                      translated("choose float32 or float64"));
  }
  if (request.layers.empty()) {
    throw input_error(translated("there are no layers"), "/layers",
                      translated("give at least one layer"));
  }
  if (request.decoder && !request.memory) {
    throw input_error(translated("there is no memory"), "/memory",
                      translated("give the encoder's hidden states [L,D] or [B,L,D]"));
  }
  if (request.encoder) {
    try {
      check_transformer(encoder_of(request));
    } catch (const Error& error) {
      throw renamed_for_source(error);
    }
  }
  const Tensor x = request.x ? shape_only(states_shape(request)) : Tensor();
  std::vector<LayerGeometry> layers;
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    const TransformerLayer& layer = request.layers[i];
    const std::string prefix = layer_prefix_of(request, i);
    LayerGeometry& geometry = layers.emplace_back();
    Shape output;
    geometry.self =
        check_projected(self_attention(request, layer, x), prefix + "self_attn.", output);
    check_adds_up(output, x.shape(), prefix,
                  layer.self_attn.output.weight ? "self_attn.W_o.weight" : "self_attn.W_v.weight");
    if (request.decoder) {
      try {
        geometry.cross =
            check_projected(cross_attention(request, layer, x), prefix + "multihead_attn.", output);
      } catch (const Error& error) {
        throw renamed_for_memory(error);
      }
      check_adds_up(output, x.shape(), prefix,
                    layer.multihead_attn.output.weight ? "multihead_attn.W_o.weight"
                                                       : "multihead_attn.W_v.weight");
    }
    const Shape wide = check_linear(layer.linear1, x.shape(), prefix, "linear1");
    check_gate(request, layer, x.shape(), wide, prefix);
    check_adds_up(check_linear(layer.linear2, wide, prefix, "linear2"), x.shape(), prefix,
                  "linear2.weight");
    const std::size_t width = x.shape().back();
    check_layer_norm(layer.norm1, width, prefix, "norm1");
    check_layer_norm(layer.norm2, width, prefix, "norm2");
    check_layer_norm(layer.norm3, width, prefix, "norm3");
  }
  if (request.last_norm) {
    check_layer_norm(*request.last_norm, x.shape().back(),
                     request.stack.empty() ? "" : request.stack + ".", "norm");
  }
  return layers;
}

TransformerRequest encoder_of(const TransformerRequest& request) {
  TransformerRequest encoder;
  static_cast<AttentionOptions&>(encoder) = other_options(request, request.encoder->mask);
  encoder.x = request.memory;
  encoder.heads = request.heads;
  encoder.kv_heads = request.kv_heads;
  encoder.layers = request.encoder->layers;
  encoder.activation = request.activation;
  encoder.gated = request.gated;
  encoder.norm = request.norm;
  encoder.last_norm = request.encoder->last_norm;
  encoder.stack = "encoder";
  return encoder;
}

std::string layer_prefix_of(const TransformerRequest& request, std::size_t at) {
  const bool named = request.layers.size() > 1 || !request.stack.empty();
  return named ? layer_prefix(request.stack, at) : "";
}

Layer layer_of(const TransformerRequest& request, std::size_t at) {
  const TransformerLayer& given = request.layers[at];
  Layer layer;
  layer.spec.self = request;
  layer.spec.cross = other_options(request, request.memory_mask);
  layer.spec.heads = request.heads;
  layer.spec.kv_heads = request.kv_heads;
  layer.spec.activation = request.activation;
  LayerWeights& weights = layer.weights;
  weights.self = given.self_attn;
  if (request.decoder) weights.cross = given.multihead_attn;
  if (request.gated) weights.gate = given.linear1;
  weights.up = request.gated ? given.linear3 : given.linear1;
  weights.down = given.linear2;
  const bool before = request.norm == NormPlace::pre;
  (before ? weights.before_attention : weights.after_attention_sum) = given.norm1;
  if (request.decoder) (before ? weights.before_cross : weights.after_cross_sum) = given.norm2;
  (before ? weights.before_feed_forward : weights.after_feed_forward_sum) =
      request.decoder ? given.norm3 : given.norm2;
  return layer;
}

Tensor states_of(const TransformerRequest& request, DType precision) {
  const std::size_t samples = states_shape(request)[0] / request.x.shape()[0];
  return (samples == 1 ? request.x : repeated(request.x, samples)).converted(precision);
}

Tensor with_last_norm(const TransformerRequest& request, const Tensor& x) {
  return request.last_norm ? apply(*request.last_norm, x, request.eps, request.threads) : x;
}

Tensor memory_of(const TransformerRequest& request, DType precision) {
  if (!request.encoder) return request.memory.converted(precision);
  const TransformerRequest encoder = encoder_of(request);
  Tensor x = states_of(encoder, precision);
  for (std::size_t i = 0; i < encoder.layers.size(); ++i)
    x = step(layer_of(encoder, i), x, {}, {}).states;
  return with_last_norm(encoder, x);
}

namespace {

// Hidden states stay in that precision up to the last layer. Tensors to look at are rounded as soon
// as they are there, so that not all layers' weights are kept in double precision.
TransformerResult transform_in(DType precision, const TransformerRequest& request,
                               const Progress& progress) {
  TransformerResult result;
  Tensor x = states_of(request, precision);
  if (request.encoder) {
    TransformerResult encoded = transform_in(precision, encoder_of(request), progress);
    result.encoder_layers = std::move(encoded.layers);
    result.memory = std::move(encoded.output);
  }
  const Tensor memory = request.encoder ? result.memory : request.memory.converted(precision);
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    LayerStep done =
        step(layer_of(request, i), x, memory, {.inside = request.stages, .progress = progress});
    x = done.states;
    TransformerResult::Layer& layer = result.layers.emplace_back();
    layer.self = std::move(done.self);
    layer.cross = std::move(done.cross);
    layer.sublayers = std::move(done.sublayers);
    if (request.stages) {
      layer.self.output = layer.sublayers[0].change;
      if (request.decoder) layer.cross.output = layer.sublayers[1].change;
    }
    round_to(request.dtype, layer.self);
    round_to(request.dtype, layer.cross);
  }
  result.output = with_last_norm(request, x);
  return result;
}

// Multiply-adds of the Linear layers that all hidden states pass through.
double multiply_adds(const TransformerRequest& request) {
  double each = 0;
  for (const TransformerLayer& layer : request.layers) {
    for (const Linear* linear :
         {&layer.self_attn.query, &layer.self_attn.key, &layer.self_attn.value, &layer.linear1,
          &layer.linear2, &layer.linear3}) {
      each += static_cast<double>(linear->weight.size());
    }
  }
  const Shape shape = states_shape(request);
  return each * static_cast<double>(element_count(shape)) / static_cast<double>(shape.back()) +
         (request.encoder ? multiply_adds(encoder_of(request)) : 0);
}

}  // namespace

TransformerResult transform(const TransformerRequest& request, const Progress& progress) {
  check_transformer(request);
  if (single_precision_pays(request, multiply_adds(request))) {
    TransformerResult result = transform_in(DType::float32, request, progress);
    // Numbers may leave the range of single precision on their way to a result within it.
    if (all_finite(result.output)) return result;
  }
  TransformerResult result = transform_in(DType::float64, request, progress);
  result.output = result.output.converted(request.dtype);
  result.memory = result.memory.converted(request.dtype);
  return result;
}

}  // namespace attn
