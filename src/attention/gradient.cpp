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
#include "attention/linear.hpp"
#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
void add_product(const double* a, std::size_t row_step, std::size_t depth_step, const double* b,
                 std::size_t rows, std::size_t depth, std::size_t columns, double* c,
                 bool zeros_hide) {
  for (std::size_t i = 0; i < rows; ++i) {
    double* const to = c + i * columns;
    const double* const factors = a + i * row_step;
    const std::size_t together = zeros_hide ? 0 : depth / 4 * 4;
    std::size_t k = 0;
    for (; k < together; k += 4) {
      const double f0 = factors[k * depth_step], f1 = factors[(k + 1) * depth_step],
                   f2 = factors[(k + 2) * depth_step], f3 = factors[(k + 3) * depth_step];
      const double *b0 = b + k * columns, *b1 = b0 + columns, *b2 = b1 + columns,
                   *b3 = b2 + columns;
      for (std::size_t j = 0; j < columns; ++j) {
        to[j] += (f0 * b0[j] + f1 * b1[j]) + (f2 * b2[j] + f3 * b3[j]);
      }
    }
    for (; k < depth; ++k) {
      const double factor = factors[k * depth_step];
      if (factor == 0 && zeros_hide) continue;
      const double* const row = b + k * columns;
      for (std::size_t j = 0; j < columns; ++j) to[j] += factor * row[j];
    }
  }
}

Numbers transposed(const double* matrix, std::size_t rows, std::size_t columns) {
  Numbers result(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result[j * rows + i] = matrix[i * columns + j];
  }
  return result;
}

Tensor folded(const Heads& rows, std::size_t first, const Tensor& like) {
  const Shape& shape = like.shape();
  const std::size_t rank = shape.size(), length = shape[rank - 2];
  const std::size_t row_step = rank == 4 ? rows.width : rows.heads * rows.width;
  const std::size_t head_step = rank == 4 ? length * rows.width : rows.width;
  const std::size_t of_sample = rows.heads * length * rows.width;
  const bool summed = like.size() == of_sample;
  Numbers sums(like.size());
  for (std::size_t b = 0; b < rows.samples; ++b) {
    for (std::size_t h = 0; h < rows.heads; ++h) {
      const double* from = rows.of(b, h) + first * rows.width;
      double* const to = sums.data() + (summed ? 0 : b) * of_sample + h * head_step;
      for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t c = 0; c < rows.width; ++c) to[i * row_step + c] += *from++;
      }
    }
  }
  return {shape, std::move(sums)};
}

Heads through(const Heads& x, const Tensor& weight) {
  const std::size_t outputs = weight.shape()[0];
  Heads y(x.samples, x.heads, x.length, outputs);
  const Tensor doubles = weight.converted(DType::float64);
  const Numbers columns = transposed(doubles.values<double>().data(), outputs, x.width);
  add_product(x.numbers.data(), x.width, 1, columns.data(), x.rows(), x.width, outputs,
              y.numbers.data());
  return y;
}

Back back_through(std::span<const double> x, const Tensor& weight,
                  std::span<const double> y_gradient) {
  const std::size_t outputs = weight.shape()[0], width = weight.shape()[1];
  const std::size_t rows = x.size() / width;
  const Tensor doubles = weight.converted(DType::float64);
  Numbers dx(x.size()), dw(weight.size());
  add_product(y_gradient.data(), outputs, 1, doubles.values<double>().data(), rows, outputs, width,
              dx.data());
  add_product(y_gradient.data(), 1, outputs, x.data(), outputs, rows, width, dw.data());
  return {std::move(dx), Tensor(weight.shape(), std::move(dw))};
}

namespace {

void check_offered(const AttentionOptions& options) {
  const auto refuse = [](const std::string& what, const char* where) {
    throw input_error(translated("there are no gradients through {1}", what), where,
                      translated("leave it out, or the gradient"));
  };
  if (options.query_norm) refuse(translated("norms of queries"), "/query_norm");
  if (options.softcap && options.softcap_after_bias)
    refuse(translated("a softcap after the bias"), "/softcap_after");
  if (options.key_norm) refuse(translated("norms of keys"), "/key_norm");
  if (options.dtype != DType::float32 && options.dtype != DType::float64) {
    throw input_error(translated("there are no gradients in {1}", name(options.dtype)), "/dtype",
                      translated("choose float32 or float64"));
  }
}

void check_shape(const Tensor& gradient, const Shape& output) {
  if (gradient.shape() == output) return;
  throw input_error(
      translated("the gradient of the output {1} does not have the output's shape {2}",
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

Gradients gradients_of(const AttentionRequest& request, const Tensor& output_gradient) {
  if (!request.gate) return gradients_without_gate(request, output_gradient);
  // With y = o σ(g), the gradient of o is dy σ(g), and that of g is dy o σ(g) (1 − σ(g)).
  AttentionRequest ungated = request;
  ungated.gate = {};
  ungated.stages = ungated.weights = false;
  ungated.pool.reset();
  ungated.dtype = DType::float64;
  const Tensor output = attend(ungated).output, gate = request.gate.converted(DType::float64);
  const Tensor gradient = output_gradient.converted(DType::float64);
  Numbers to_output, to_gate;
  for (std::size_t n = 0; n < gate.size(); ++n) {
    const double opened = sigmoid(gate.values<double>()[n]);
    const double dy = gradient.values<double>()[n];
    to_output.push_back(dy * opened);
    to_gate.push_back(dy * output.values<double>()[n] * opened * (1 - opened));
  }
  ungated.dtype = request.dtype;
  Gradients all = gradients_without_gate(ungated, Tensor(gate.shape(), std::move(to_output)));
  all.emplace_back("gate", Tensor(gate.shape(), std::move(to_gate)).converted(request.dtype));
  return all;
}

Gradients gradients(const ProjectedAttentionRequest& request, const Tensor& output_gradient) {
  check_gradients(request, output_gradient);
  const Projections& p = request.projections;
  AttentionRequest inner = project(request, request.states, p);
  inner.stages = inner.weights = false;
  inner.pool.reset();
  // 1. Through the output projection.
  Tensor joined_gradient = output_gradient.converted(DType::float64);
  std::optional<LinearBack> of_output, of_gate;
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
    if (name == "gate" && p.gate.weight) {
      of_gate = back_through(p.gate, request.states.query, gradient.converted(DType::float64));
      continue;
    }
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
  if (of_gate) states[0] = sum(states[0], of_gate->x);
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
  if (of_gate) {
    add("W_gate.weight", of_gate->weight);
    if (p.gate.bias) add("W_gate.bias", of_gate->bias);
  }
  return all;
}

}  // namespace attn
