#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/gradient_rows.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {

double slope(double x, const ActivationCurve& by) {
  switch (by.curve) {
    case kernels::Curve::relu:
      return x > 0 ? 1 : 0;
    case kernels::Curve::relu_squared:
      return x > 0 ? 2 * x : 0;
    case kernels::Curve::gelu: {
      const double density = std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * density;
    }
    case kernels::Curve::gelu_by_tanh: {
      const double t = std::tanh(by.constant * (x + 0.044715 * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * by.constant * (1 + 3 * 0.044715 * x * x);
    }
    case kernels::Curve::sigmoid: {
      const double s = sigmoid(by.constant * x);
      return s + by.constant * x * s * (1 - s);
    }
  }
  return 1;
}

Tensor product_back(const StoredLinear& linear, const Tensor& gradient, std::size_t threads) {
  return apply(StoredLinear(linear.weight.turned(), {}), gradient, threads);
}

void norm_back(bool centred, const double* weight, const double* x, std::size_t width, double eps,
               double* gradient) {
  const auto count = static_cast<double>(width);
  double mean = 0, squares = 0;
  for (std::size_t k = 0; k < width && centred; ++k) mean += x[k] / count;
  for (std::size_t k = 0; k < width; ++k) squares += (x[k] - mean) * (x[k] - mean);
  const double factor = 1 / std::sqrt(squares / count + eps);
  double along = 0, sum = 0;  // means over the row
  for (std::size_t k = 0; k < width; ++k) {
    if (weight != nullptr) gradient[k] *= weight[k];
    along += gradient[k] * (x[k] - mean) * factor / count;
    if (centred) sum += gradient[k] / count;
  }
  for (std::size_t k = 0; k < width; ++k) {
    gradient[k] = factor * (gradient[k] - sum - (x[k] - mean) * factor * along);
  }
}

Tensor norm_back(const Norm& norm, const Tensor& x, double eps, const Tensor& gradient) {
  const std::size_t width = x.shape().back();
  const Tensor rows = x.converted(DType::float64);
  const Tensor weight = norm.weight ? norm.weight.converted(DType::float64) : Tensor();
  Numbers result = elements_of(gradient);
  for (std::size_t at = 0; at < result.size(); at += width) {
    norm_back(norm.kind == NormKind::layer, weight ? weight.values<double>().data() : nullptr,
              rows.values<double>().data() + at, width, eps, result.data() + at);
  }
  return {x.shape(), std::move(result)};
}

Tensor weight_gradients(const AttentionRequest& request, const Tensor& output_gradient) {
  const Geometry geometry = check_geometry(request);
  const std::size_t batch = geometry.batch, heads = geometry.heads, group = geometry.kv_heads;
  const Sequences& of = *sequences_of(request.score);
  Tensor reaching = output_gradient.converted(DType::float64);
  if (request.gate) {
    reaching = mapped(
        request.threads, [](double dy, double gate) { return dy * sigmoid(gate); }, reaching,
        request.gate.converted(DType::float64));
  }
  const Heads gradient(HeadRows<double>(reaching, heads), batch, heads),
      values(HeadRows<double>(of.value_or_key(), group, of.past_value), batch, group);
  const std::size_t queries = geometry.queries, keys = geometry.keys;
  Numbers all(batch * heads * queries * keys);
  for (std::size_t at = 0; at < batch * heads; ++at) {
    const std::size_t b = at / heads, h = at % heads;
    const Numbers columns = transposed(values.of(b, h / (heads / group)), keys, values.width);
    add_product(gradient.of(b, h), gradient.width, 1, columns.data(), queries, values.width, keys,
                all.data() + at * queries * keys);
  }
  return {geometry.weights_shape(), std::move(all)};
}

namespace {

// Gradient of projected rows before their norm, of rows of that width, and before their bound.
Tensor before_norm(const Tensor& rows, const std::optional<Norm>& norm, std::size_t width,
                   const std::optional<double>& clip, double eps, std::size_t threads,
                   Tensor gradient) {
  const Tensor apart = rows.reshaped({rows.size() / width, width});
  if (clip) {
    const Tensor bounded = norm ? apply(*norm, apart, eps, threads) : apart;
    gradient = mapped(
        threads, [most = *clip](double dy, double y) { return std::abs(y) <= most ? dy : 0; },
        gradient, bounded.reshaped(rows.shape()));
  }
  return norm ? norm_back(*norm, apart, eps, gradient).reshaped(rows.shape()) : gradient;
}

// Columns of each of H heads of rows [..,H·w], side by side.
Tensor columns_of_heads(const Tensor& rows, std::size_t heads, std::size_t first,
                        std::size_t count) {
  const std::size_t width = rows.shape().back() / heads;
  std::vector<std::size_t> columns;
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t k = first; k < first + count; ++k) columns.push_back(h * width + k);
  }
  const Tensor flat = rows.reshaped({rows.size() / rows.shape().back(), rows.shape().back()});
  Shape shape = rows.shape();
  shape.back() = heads * count;
  return picked(flat, columns, 1).reshaped(shape);
}

// Through projections of narrow vectors.
Tensor latents_back(const Sequences& states, const AttentionWeights& weights, std::size_t threads,
                    const ProjectedGradients& gradients) {
  const LatentStates& latent = *weights.latent;
  if (weights.query_norm || weights.key_norm || weights.value_norm || weights.clip) {
    throw input_error(translated("there are no gradients through norms of projected latents"),
                      "/model", translated("leave gradients out"));
  }
  const auto through = [&](const StoredLinear& linear, const std::optional<Norm>& norm, Tensor to) {
    if (norm) to = norm_back(*norm, apply(linear, states.query, threads), latent.eps, to);
    return product_back(linear, to, threads);
  };
  Tensor of_queries = product_back(weights.query, gradients.query, threads);
  if (latent.query) of_queries = through(latent.query, latent.query_norm, of_queries);
  const std::size_t heads = states.heads.value_or(1), shared = latent.shared_key.weight.shape()[0],
                    own = gradients.key.shape().back() / heads - shared;
  const Tensor of_keys =
      sum(product_back(weights.key, columns_of_heads(gradients.key, heads, shared, own), threads),
          product_back(weights.value, gradients.value, threads));
  // The numbers that heads share take the sum over them.
  const Tensor apart = columns_of_heads(gradients.key, heads, 0, shared);
  Numbers sums(apart.size() / heads);
  for (std::size_t n = 0; n < apart.size(); ++n) {
    const std::size_t row = n / (heads * shared), k = n % shared;
    sums[row * shared + k] += apart.values<double>()[n];
  }
  Shape shape = apart.shape();
  shape.back() = shared;
  return sum(sum(of_queries, through(latent.key_value, latent.key_value_norm, of_keys)),
             product_back(latent.shared_key, Tensor(shape, std::move(sums)), threads));
}

}  // namespace

StatesGradients project_back(const AttentionOptions& options, const Sequences& states,
                             const AttentionWeights& weights, const ProjectedGradients& gradients) {
  const std::size_t threads = options.threads;
  StatesGradients result;
  if (weights.latent) {
    result.query = latents_back(states, weights, threads, gradients);
  } else {
    const auto through = [&](const StoredLinear& linear, const std::optional<Norm>& norm,
                             std::size_t norms, const Tensor& x, Tensor gradient) {
      if (norm || weights.clip) {
        const std::size_t width = gradient.shape().back() / norms;
        gradient = before_norm(apply(linear, x, threads), norm, width, weights.clip, options.eps,
                               threads, gradient);
      }
      return product_back(linear, gradient, threads);
    };
    const std::size_t groups = states.kv_heads.value_or(states.heads.value_or(1));
    result.query = through(weights.query, weights.query_norm, 1, states.query, gradients.query);
    result.key = through(weights.key, weights.key_norm, 1, states.key_or_query(), gradients.key);
    const Tensor of_values =
        through(weights.value, weights.value_norm, weights.value_norm ? groups : 1,
                states.value_or_key(), gradients.value);
    result.key = sum(result.key, of_values);
    if (!states.key) result.query = sum(result.query, std::exchange(result.key, {}));
  }
  if (weights.gate && gradients.gate) {
    result.query = sum(result.query, product_back(weights.gate, gradients.gate, threads));
  }
  return result;
}

void add_disentangled_back(const DisentangledTerms& terms, const AttentionRequest& request,
                           std::span<const std::int64_t> types, ProjectedGradients& gradients) {
  const Geometry geometry = check_geometry(request);
  const std::size_t heads = geometry.heads, queries = geometry.queries, keys = geometry.keys;
  const double scale = scale_of(request, geometry);
  const auto bias = gradients.bias.values<double>();
  // `row_of(i, j)` is the row of the table for a query and a key.
  const auto add = [&](const Tensor& table, Tensor& to, bool of_queries, const auto& row_of) {
    if (!table) return;
    const HeadRows<double> rows(table, heads);
    const std::size_t width = rows.width();
    Numbers sums = elements_of(to);
    for (std::size_t n = 0; n < bias.size(); ++n) {
      const std::size_t j = n % keys, i = n / keys % queries, h = n / keys / queries % heads,
                        b = n / keys / queries / heads, length = of_queries ? queries : keys,
                        at = of_queries ? i : j;
      const auto by = rows(0, h, row_of(i, j));
      double* const row = sums.data() + (b * length + at) * heads * width + h * width;
      for (std::size_t k = 0; k < width; ++k) row[k] += scale * bias[n] * by[k];
    }
    to = Tensor(to.shape(), std::move(sums));
  };
  const auto by_distance = [&](std::size_t i, std::size_t j) {
    return terms.distances.row(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(j));
  };
  add(terms.keys, gradients.query, true, by_distance);
  add(terms.queries, gradients.key, false, by_distance);
  if (types.empty()) return;
  add(terms.segments, gradients.query, true,
      [&](std::size_t i, std::size_t j) -> std::size_t { return types[i] == types[j] ? 0 : 1; });
}

}  // namespace attn
