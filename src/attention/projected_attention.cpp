#include "attention/projected_attention.hpp"

#include <algorithm>
#include <vector>

#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "attention/visibility.hpp"

namespace attn {
namespace {

// A tensor of which only the shape may be read: sizes can be checked before anything is computed.
Tensor shape_only(const Shape& shape) {
  static const double nothing = 0;
  return Tensor::borrowed(shape, DType::float64, &nothing, nullptr);
}

const Tensor& key_of(const AttentionRequest& attention) {
  return attention.key ? attention.key : attention.query;
}

const Tensor& value_of(const AttentionRequest& attention) {
  return attention.value ? attention.value : key_of(attention);
}

void check_states(const Tensor& states, const char* name) {
  const std::string where = std::string("/") + name;
  if (!states)
    throw input_error(std::string("there is no ") + name, where,
                      "give hidden states [L,D] or [B,L,D]");
  if (states.rank() != 2 && states.rank() != 3) {
    throw input_error(std::string(name) + " " + text(states.shape()) + " is not [L,D] or [B,L,D]",
                      where,
                      "give hidden states without a head axis: the projections make the heads");
  }
  if (states.size() == 0) {
    throw input_error(std::string(name) + " " + text(states.shape()) + " has an axis of size 0",
                      where, "give every axis at least one element");
  }
}

void check_heads(std::size_t width, std::size_t heads, const std::string& weight) {
  if (width % heads == 0) return;
  throw input_error(weight + " has " + std::to_string(width) + " rows, which is not divisible by " +
                        std::to_string(heads) + " heads",
                    "/parameters/" + weight, "choose a number of heads that divides the rows");
}

void check_same_width(std::size_t query, std::size_t key, const std::string& prefix) {
  if (query == key) return;
  throw input_error(prefix + "W_q.weight makes heads of width " + std::to_string(query) + ", " +
                        prefix + "W_k.weight of width " + std::to_string(key),
                    "/parameters/" + prefix + "W_k.weight",
                    "give both the same rows a head; fewer key heads are set by \"kv_heads\"");
}

// [B,G,P,d] as [B,P,G·d], so that it continues projected keys, whose heads stand side by side.
Tensor heads_side_by_side(const Tensor& past) {
  if (past.rank() != 4) return past;
  const Shape& s = past.shape();
  const Tensor numbers = past.converted(DType::float64);
  const auto from = numbers.values<double>();
  std::vector<double> to(from.size());
  for (std::size_t b = 0; b < s[0]; ++b) {
    for (std::size_t g = 0; g < s[1]; ++g) {
      for (std::size_t p = 0; p < s[2]; ++p) {
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(((b * s[1] + g) * s[2] + p) * s[3]),
                    s[3],
                    to.begin() + static_cast<std::ptrdiff_t>(((b * s[2] + p) * s[1] + g) * s[3]));
      }
    }
  }
  return {{s[0], s[2], s[1] * s[3]}, std::move(to)};
}

// The same attention over tensors that are projected already.
AttentionRequest projected(const AttentionRequest& attention, Tensor query, Tensor key,
                           Tensor value) {
  AttentionRequest inner = attention;
  inner.kind = Kind::scaled_dot_product;
  inner.query = std::move(query);
  inner.key = std::move(key);
  inner.value = std::move(value);
  if (attention.past_key) inner.past_key = heads_side_by_side(attention.past_key);
  if (attention.past_value) inner.past_value = heads_side_by_side(attention.past_value);
  return inner;
}

}  // namespace

Geometry check_projected(const ProjectedAttentionRequest& request, const std::string& prefix,
                         Shape& output) {
  const AttentionRequest& attention = request.attention;
  const Tensor &key = key_of(attention), &value = value_of(attention);
  check_states(attention.query, "query");
  check_states(key, "key");
  check_states(value, "value");
  check_heads_options(attention);
  const Projections& p = request.projections;
  const Shape q = check_linear(p.query, attention.query.shape(), prefix, "W_q");
  const Shape k = check_linear(p.key, key.shape(), prefix, "W_k");
  const Shape v = check_linear(p.value, value.shape(), prefix, "W_v");
  const std::size_t heads = attention.heads.value_or(1),
                    kv_heads = attention.kv_heads.value_or(heads);
  check_heads(q.back(), heads, prefix + "W_q.weight");
  check_heads(k.back(), kv_heads, prefix + "W_k.weight");
  check_heads(v.back(), kv_heads, prefix + "W_v.weight");
  check_same_width(q.back() / heads, k.back() / kv_heads, prefix);

  const Geometry geometry =
      check_geometry(projected(attention, shape_only(q), shape_only(k), shape_only(v)));
  Shape joined = geometry.output_shape();
  output = p.output.weight ? check_linear(p.output, joined, prefix, "W_o") : joined;
  const Visibility mask_fits(attention.mask, geometry);
  return geometry;
}

AttentionRequest project(const ProjectedAttentionRequest& request) {
  const AttentionRequest& attention = request.attention;
  const Projections& p = request.projections;
  const auto states = [](const Tensor& tensor) { return tensor.converted(DType::float64); };
  AttentionRequest inner = projected(attention, apply(p.query, states(attention.query)),
                                     apply(p.key, states(key_of(attention))),
                                     apply(p.value, states(value_of(attention))));
  inner.dtype = DType::float64;
  return inner;
}

AttentionResult attend_projected(const ProjectedAttentionRequest& request) {
  Shape output;
  check_projected(request, "", output);
  const Linear& last = request.projections.output;
  AttentionResult result = attend(project(request));
  if (last.weight) result.output = apply(last, result.output);
  for (Tensor* tensor : {&result.weights, &result.dropped, &result.output, &result.scores,
                         &result.capped, &result.masked, &result.lse}) {
    *tensor = tensor->converted(request.attention.dtype);
  }
  return result;
}

}  // namespace attn
