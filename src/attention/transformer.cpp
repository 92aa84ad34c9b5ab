#include "attention/transformer.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "attention/layer_norm.hpp"
#include "attention/linear.hpp"
#include "attention/projected_attention.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/narrow_number.hpp"
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

// A gated feed-forward multiplies linear1 by linear3.
void check_gate(const TransformerRequest& request, const TransformerLayer& layer, const Shape& x,
                const Shape& wide, const std::string& prefix) {
  const std::string name = prefix + "linear3.weight";
  if (!gated(request.activation)) {
    if (!layer.linear3.weight) return;
    throw input_error(
        translated("{1} has no meaning for this activation", name), "/parameters/" + name,
        translated("leave it out, or choose a gated activation: swiglu, geglu, geglu_tanh"));
  }
  if (check_linear(layer.linear3, x, prefix, "linear3") == wide) return;
  throw input_error(
      translated(
          "{1} {2} and {3}linear1.weight {4}, which it is multiplied with, have different shapes",
          name, text(layer.linear3.weight.shape()), prefix, text(layer.linear1.weight.shape())),
      "/parameters/" + name, translated("give both as many rows"));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The error of a cross-attention speaks of its keys and mask as the request names them.
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

// x [B,L,D]: a batch axis of 1 is repeated if the memory has more samples.
Shape states_shape(const TransformerRequest& request) {
  Shape shape = request.x.shape();
  const Shape& memory = request.memory.shape();
  if (request.decoder && shape.size() == 3 && memory.size() == 3 && shape[0] == 1) {
    shape[0] = memory[0];
  }
  return shape;
}

// What is added to it, if anything, is added while the numbers are near.
Tensor feed_forward(const TransformerRequest& request, const TransformerLayer& layer,
                    const Tensor& x, const Tensor& residual) {
  const std::size_t threads = request.threads;
  const ActivationCurve curve = curve_of(request.activation);
  Tensor wide;
  if (gated(request.activation)) {
    wide = apply(layer.linear3, x, threads, gating(apply(layer.linear1, x, threads), curve));
  } else {
    wide = apply(layer.linear1, x, threads, activating(curve));
  }
  return apply(layer.linear2, wide, threads, residual ? adding(residual) : Finish());
}

}  // namespace

bool gated(Activation activation) noexcept {
  return activation == Activation::swiglu || activation == Activation::geglu ||
         activation == Activation::geglu_tanh;
}

ActivationCurve curve_of(Activation activation) {
  using kernels::Curve;
  switch (activation) {
    case Activation::relu:
      return {Curve::relu};
    case Activation::gelu:
    case Activation::geglu:
      return {Curve::gelu};
    case Activation::gelu_tanh:
    case Activation::geglu_tanh:
      return {Curve::gelu_by_tanh, std::numbers::sqrt2 * std::numbers::inv_sqrtpi};
    case Activation::silu:
    case Activation::swiglu:
      break;
  }
  return {Curve::sigmoid, 1};
}

ProjectedAttentionRequest self_attention(const TransformerRequest& request,
                                         const TransformerLayer& layer, Tensor x) {
  ProjectedAttentionRequest self{request, {std::move(x)}, layer.self_attn};
  self.states.heads = request.heads;
  self.states.kv_heads = request.kv_heads;
  return self;
}

ProjectedAttentionRequest cross_attention(const TransformerRequest& request,
                                          const TransformerLayer& layer, Tensor x) {
  ProjectedAttentionRequest cross = self_attention(request, layer, std::move(x));
  cross.projections = layer.multihead_attn;
  cross.states.key = cross.states.value = request.memory;
  cross.mask = request.memory_mask;
  cross.rotary.reset();
  cross.query_norm.reset();
  cross.key_norm.reset();
  cross.relative_bias.reset();
  cross.sinks = {};
  return cross;
}

std::vector<LayerGeometry> check_transformer(const TransformerRequest& request) {
  if (!(std::isfinite(request.eps) && request.eps > 0)) {
    throw input_error(translated("eps is not a finite positive number"), "/eps",
                      translated("give a small positive number such as 1e-5"));
  }
  if (is_narrow(request.dtype)) {
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
  const Tensor x = request.x ? shape_only(states_shape(request)) : Tensor();
  std::vector<LayerGeometry> layers;
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    const TransformerLayer& layer = request.layers[i];
    const std::string prefix = request.layers.size() > 1 ? layer_prefix("", i) : "";
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
  return layers;
}

namespace {

// No hidden state is rounded to the dtype before the last step. What is only shown of a layer is
// rounded as soon as it is there, so that not all layers' weights are kept in double precision.
TransformerResult transform_in(DType precision, const TransformerRequest& request) {
  const std::size_t threads = request.threads;
  TransformerRequest inner = request;
  inner.dtype = precision;

  TransformerResult result;
  const std::size_t samples = states_shape(request)[0] / request.x.shape()[0];
  Tensor x = (samples == 1 ? request.x : repeated(request.x, samples)).converted(precision);
  for (const TransformerLayer& layer : request.layers) {
    TransformerResult::Layer& attentions = result.layers.emplace_back();
    const bool before = request.norm == NormPlace::pre;
    const auto normed = [&](const LayerNorm& norm, const Tensor& states) {
      return apply(norm, states, request.eps, threads, request.norm_kind);
    };
    // One sub-layer with its residual: f(x) and the norm before or after the sum.
    const auto add = [&](const LayerNorm& norm, const auto& sublayer) {
      const Tensor input = before ? normed(norm, x) : x;
      const Tensor change = sublayer(input);
      const Tensor after =
          before ? sum(x, change, threads)
                 : apply_to_sum(norm, x, change, request.eps, threads, request.norm_kind);
      if (request.stages) attentions.sublayers.push_back({x, input, change, after});
      x = after;
    };
    // 1. Self-attention.
    add(layer.norm1, [&](const Tensor& states) {
      attentions.self = attend_projected(self_attention(inner, layer, states));
      return attentions.self.output;
    });
    round_to(request.dtype, attentions.self);
    // 2. A decoder's cross-attention.
    if (request.decoder) {
      add(layer.norm2, [&](const Tensor& states) {
        attentions.cross = attend_projected(cross_attention(inner, layer, states));
        return attentions.cross.output;
      });
      round_to(request.dtype, attentions.cross);
    }
    // 3. Feed-forward, whose change is only kept where it is shown.
    const LayerNorm& last = request.decoder ? layer.norm3 : layer.norm2;
    if (request.stages) {
      add(last, [&](const Tensor& states) { return feed_forward(request, layer, states, {}); });
    } else {
      const Tensor total = feed_forward(request, layer, before ? normed(last, x) : x, x);
      x = before ? total : normed(last, total);
    }
  }
  result.output = x;
  return result;
}

// Of the Linear layers that all hidden states pass through.
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
  return each * static_cast<double>(element_count(shape)) / static_cast<double>(shape.back());
}

}  // namespace

TransformerResult transform(const TransformerRequest& request) {
  check_transformer(request);
  const DType dtype = request.dtype;
  if (single_precision_pays(request, multiply_adds(request))) {
    TransformerResult result = transform_in(DType::float32, request);
    // What leaves the range of single precision on its way may still be a number in double.
    if (all_finite(result.output)) return result;
  }
  TransformerResult result = transform_in(DType::float64, request);
  result.output = result.output.converted(dtype);
  return result;
}

}  // namespace attn
