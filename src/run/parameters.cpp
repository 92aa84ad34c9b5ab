#include "run/parameters.hpp"

#include <array>
#include <string>
#include <string_view>

#include "attn/error.hpp"

#include "run/document_object.hpp"
#include "run/parameter_set.hpp"
#include "run/torch_initialisation.hpp"
#include "support/nearest_name.hpp"

namespace attn {
namespace {

using Names = std::vector<std::string>;

// What tutorials and models call the four Linear layers around an attention; ours first.
const Names query_names{"W_q", "query", "Q", "q_liner", "q_proj", "to_q"};
const Names key_names{"W_k", "key", "K", "k_liner", "k_proj", "to_k"};
const Names value_names{"W_v", "value", "V", "v_liner", "v_proj", "to_v"};
const Names output_names{"W_o", "fc_out", "linear", "out_liner", "out_proj", "o_proj", "to_out.0"};

Names with_ending(const std::string& prefix, const Names& names, const std::string& ending) {
  Names full;
  for (const std::string& name : names) full.push_back(prefix + name + ending);
  return full;
}

// Rows first … first + count − 1 of a weight [rows,in] or a bias [rows], sharing the elements.
Tensor rows(const Tensor& tensor, std::size_t first, std::size_t count) {
  Shape shape = tensor.shape();
  const std::size_t row = tensor.size() / shape[0];
  shape[0] = count;
  const auto* start =
      static_cast<const std::byte*>(tensor.bytes()) + first * row * size_of(tensor.dtype());
  return Tensor::borrowed(std::move(shape), tensor.dtype(), start,
                          std::make_shared<const Tensor>(tensor));
}

// torch.nn.MultiheadAttention stacks the weights of query, key and value: [(H + 2 G) d, in].
struct Stacked {
  std::size_t query, key;  // rows of the query's part and of either of the others

  Stacked(const Tensor& weight, const std::string& name, std::size_t heads, std::size_t kv_heads) {
    const std::size_t parts = heads + 2 * kv_heads;
    if (weight.rank() != 2 || weight.shape()[0] % parts != 0) {
      throw input_error(
          name + " " + text(weight.shape()) + " cannot be split into query, key and value",
          "/parameters/" + name, "give it 3·E rows, or (heads + 2·kv_heads)·d");
    }
    const std::size_t width = weight.shape()[0] / parts;
    query = heads * width;
    key = kv_heads * width;
  }
};

Projections given_projections(ParameterSet& parameters, const std::string& prefix,
                              std::size_t heads, std::size_t kv_heads) {
  Projections p;
  const Names fused{prefix + "in_proj_weight"};
  const Names fused_bias{prefix + "in_proj_bias"};
  const Names apart{prefix + "q_proj_weight"};
  if (const Tensor weight = parameters.find(fused)) {
    const Stacked parts(weight, fused[0], heads, kv_heads);
    p.query.weight = rows(weight, 0, parts.query);
    p.key.weight = rows(weight, parts.query, parts.key);
    p.value.weight = rows(weight, parts.query + parts.key, parts.key);
  } else if (const Tensor query = parameters.find(apart)) {
    p.query.weight = query;
    p.key.weight = parameters.get(Names{prefix + "k_proj_weight"});
    p.value.weight = parameters.get(Names{prefix + "v_proj_weight"});
  } else {
    p.query.weight = parameters.get(with_ending(prefix, query_names, ".weight"));
    p.key.weight = parameters.get(with_ending(prefix, key_names, ".weight"));
    p.value.weight = parameters.get(with_ending(prefix, value_names, ".weight"));
    p.query.bias = parameters.find(with_ending(prefix, query_names, ".bias"));
    p.key.bias = parameters.find(with_ending(prefix, key_names, ".bias"));
    p.value.bias = parameters.find(with_ending(prefix, value_names, ".bias"));
  }
  if (const Tensor bias = parameters.find(fused_bias)) {
    const auto count = [](const Tensor& weight) {
      return weight.rank() == 0 ? 0 : weight.shape()[0];
    };
    const std::size_t q = count(p.query.weight), k = count(p.key.weight), v = count(p.value.weight);
    if (bias.shape() != Shape{q + k + v}) {
      throw input_error(
          fused_bias[0] + " " + text(bias.shape()) + " does not fit: expected " + text({q + k + v}),
          "/parameters/" + fused_bias[0],
          "give it one number a row of the query, key and value weights");
    }
    p.query.bias = rows(bias, 0, q);
    p.key.bias = rows(bias, q, k);
    p.value.bias = rows(bias, q + k, v);
  }
  const Names output = with_ending(prefix, output_names, ".weight");
  p.output.weight = parameters.find(output);
  p.output.bias = parameters.find(with_ending(prefix, output_names, ".bias"));
  if (p.output.bias && !p.output.weight) parameters.get(output);
  return p;
}

Linear given_linear(ParameterSet& parameters, const std::string& name) {
  return {parameters.get(Names{name + ".weight"}), parameters.find(name + ".bias")};
}

LayerNorm given_norm(ParameterSet& parameters, const std::string& name) {
  return {parameters.find(name + ".weight"), parameters.find(name + ".bias")};
}

TransformerLayer given_layer(ParameterSet& parameters, const std::string& prefix, bool decoder,
                             std::size_t heads, std::size_t kv_heads) {
  TransformerLayer layer;
  layer.self_attn = given_projections(parameters, prefix + "self_attn.", heads, kv_heads);
  if (decoder)
    layer.multihead_attn =
        given_projections(parameters, prefix + "multihead_attn.", heads, kv_heads);
  layer.linear1 = given_linear(parameters, prefix + "linear1");
  layer.linear2 = given_linear(parameters, prefix + "linear2");
  layer.norm1 = given_norm(parameters, prefix + "norm1");
  layer.norm2 = given_norm(parameters, prefix + "norm2");
  if (decoder) layer.norm3 = given_norm(parameters, prefix + "norm3");
  return layer;
}

}  // namespace

LearnedWeights read_parameters(const JsonValue* value, const std::string& pointer,
                               AttentionRequest& request, const Tensor& memory, std::size_t layers,
                               std::optional<std::size_t> feed_forward, TensorSource& tensors) {
  LearnedWeights learned;
  const KindInfo& kind = info(request.kind);
  const bool transformer = kind.family == Family::transformer;
  if (kind.parameters.empty() && !transformer) return learned;
  if (!value) {
    if (kind.family == Family::score) return learned;  // reported with the shapes it should have
    throw input_error(
        "the parameters are missing", pointer,
        "give the learned weights, a file of them, or {\"init\": \"torch\"} with a seed");
  }
  if (expect_object(*value, pointer).find("init")) {
    const TorchInitialisation start(*value, pointer, request, memory, feed_forward, tensors);
    if (request.kind == Kind::additive) {
      start.additive(request);
    } else if (transformer) {
      for (std::size_t i = 0; i < layers; ++i) learned.layers.push_back(start.layer());
    } else {
      learned.projections = start.projections();
    }
    return learned;
  }
  ParameterSet parameters(*value, pointer, request.dtype, tensors);
  const std::size_t heads = request.heads.value_or(1), kv_heads = request.kv_heads.value_or(heads);
  if (request.kind == Kind::general) {
    request.W = parameters.find("W");
  } else if (request.kind == Kind::additive) {
    request.W_k = parameters.find("W_k.weight");
    request.W_q = parameters.find("W_q.weight");
    request.w_v = parameters.find("w_v.weight");
  } else if (transformer) {
    for (std::size_t i = 0; i < layers; ++i) {
      // One layer may go by its bare names, and by those of a stack of one.
      const std::string numbered = "layers." + std::to_string(i) + ".";
      const bool stacked = layers > 1 || parameters.has(numbered + "linear1.weight");
      learned.layers.push_back(given_layer(parameters, stacked ? numbered : "",
                                           request.kind == Kind::decoder_layer, heads, kv_heads));
    }
  } else {
    learned.projections = given_projections(parameters, "", heads, kv_heads);
  }
  parameters.expect_all_used();
  return learned;
}

}  // namespace attn
