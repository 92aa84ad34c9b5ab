#include "attn/gradient.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "attention/gradient_rows.hpp"
#include "attention/head_preparation.hpp"
#include "attention/linear.hpp"
#include "attention/projected_attention.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

void check_offered(const AttentionOptions& options) {
  const auto refuse = [](const std::string& what, const char* where) {
    throw input_error(translated("there are no gradients through {1}", what), where,
                      translated("leave it out, or the gradient"));
  };
  if (options.query_norm) refuse(translated("norms of queries"), "/query_norm");
  if (options.key_norm) refuse(translated("norms of keys"), "/key_norm");
  if (options.dtype != DType::float32 && options.dtype != DType::float64) {
    throw input_error(translated("there are no gradients in {1}", name(options.dtype)), "/dtype",
                      translated("choose float32 or float64"));
  }
}

void check_shape(const Tensor& gradient, const Shape& output) {
  if (gradient.shape() == output) return;
  throw input_error(translated("the gradient of the output {1} has not the output's shape {2}",
                               text(gradient.shape()), text(output)),
                    "/gradient/output", translated("give one number for each of the output"));
}

// Gradients through y = x Wᵀ + b over the rows of a tensor.
struct LinearBack {
  Tensor x, weight, bias;
};
LinearBack back_through(const Linear& linear, const Tensor& x, const Tensor& y_gradient) {
  const std::size_t outputs = linear.weight.shape()[0];
  const Tensor states = x.converted(DType::float64);
  const auto dy = y_gradient.values<double>();
  Back back = back_through(states.values<double>(), linear.weight, dy);
  Numbers db(outputs);
  for (std::size_t i = 0; i < dy.size(); ++i) db[i % outputs] += dy[i];
  return {Tensor(x.shape(), std::move(back.x)), std::move(back.weight),
          Tensor({outputs}, std::move(db))};
}

}  // namespace

void check_gradients(const AttentionRequest& request, const Tensor& output_gradient) {
  check_offered(request);
  if (std::holds_alternative<GivenScores>(request.score)) {
    throw input_error(translated("there are no gradients of given scores"), "/gradient",
                      translated("leave it out, or choose a kind of queries and keys"));
  }
  const Geometry geometry = check_geometry(request);
  check_options(request, geometry);
  check_shape(output_gradient, geometry.output_shape());
}

void check_gradients(const ProjectedAttentionRequest& request, const Tensor& output_gradient) {
  check_offered(request);
  Shape output;
  check_projected(request, "", output);
  check_shape(output_gradient, output);
}

Gradients gradients(const AttentionRequest& request, const Tensor& output_gradient) {
  check_gradients(request, output_gradient);
  return gradients_of(request, output_gradient);
}

Gradients gradients(const ProjectedAttentionRequest& request, const Tensor& output_gradient) {
  check_gradients(request, output_gradient);
  const Projections& p = request.projections;
  AttentionRequest inner = project(request, request.states, p);
  inner.stages = inner.weights = false;
  inner.pool.reset();
  // 1. Through the output projection.
  Tensor joined_gradient = output_gradient.converted(DType::float64);
  std::optional<LinearBack> of_output;
  if (p.output.weight) {
    const Tensor joined = attend(inner).output;
    of_output = back_through(p.output, joined, joined_gradient);
    joined_gradient = of_output->x;
  }
  // 2. Through the attention and the projections of its inputs.
  Gradients all, others;
  std::array<Tensor, 3> states;
  const auto add = [&](const std::string& name, const Tensor& gradient) {
    all.emplace_back(name, gradient.converted(request.dtype));
  };
  std::vector<std::pair<std::string, Tensor>> parameters;
  for (const auto& [name, gradient] : gradients(inner, joined_gradient)) {
    const bool query = name == "query", key = name == "key", value = name == "value";
    if (!query && !key && !value) {
      others.emplace_back(name, gradient);
      continue;
    }
    const Linear& linear = query ? p.query : key ? p.key : p.value;
    const Tensor& x = query ? request.states.query
                      : key ? request.states.key_or_query()
                            : request.states.value_or_key();
    const LinearBack back = back_through(linear, x, gradient);
    states[query ? 0 : key ? 1 : 2] = back.x;
    const std::string prefix = query ? "W_q" : key ? "W_k" : "W_v";
    parameters.emplace_back(prefix + ".weight", back.weight);
    if (linear.bias) parameters.emplace_back(prefix + ".bias", back.bias);
  }
  if (!request.states.value) states[1] = sum(states[1], states[2]);
  if (!request.states.key) states[0] = sum(states[0], states[1]);
  add("query", states[0]);
  if (request.states.key) add("key", states[1]);
  if (request.states.value) add("value", states[2]);
  for (const auto& [name, gradient] : others) {
    const Tensor& given = name == "past_key"     ? request.states.past_key
                          : name == "past_value" ? request.states.past_value
                                                 : gradient;
    add(name, given.rank() == gradient.rank() ? gradient : heads_apart(gradient, given.shape()));
  }
  for (const auto& [name, gradient] : parameters) add(name, gradient);
  if (of_output) {
    add("W_o.weight", of_output->weight);
    if (p.output.bias) add("W_o.bias", of_output->bias);
  }
  return all;
}

}  // namespace attn
