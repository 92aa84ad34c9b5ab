#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "attn/gradient.hpp"

#include "attention/head_rows.hpp"
#include "attention/linear.hpp"
#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"

namespace attn {

using Numbers = std::vector<double>;

/// The numbers of a tensor in double precision.
inline Numbers elements_of(const Tensor& tensor) {
  const Tensor numbers = tensor.converted(DType::float64);
  return {numbers.values<double>().begin(), numbers.values<double>().end()};
}

/// c [rows,columns] += a b for b [depth,columns] and a[i,k] at a[i · row_step + k · depth_step].
/// With `zeros_hide` a factor of 0 adds nothing, even times NaN.
void add_product(const double* a, std::size_t row_step, std::size_t depth_step, const double* b,
                 std::size_t rows, std::size_t depth, std::size_t columns, double* c,
                 bool zeros_hide = false);

/// The transpose [columns,rows] of a matrix [rows,columns].
Numbers transposed(const double* matrix, std::size_t rows, std::size_t columns);

/// The rows of all heads, [samples,heads,length,width].
struct Heads {
  std::size_t samples = 0, heads = 0, length = 0, width = 0;
  Numbers numbers;

  Heads() = default;
  Heads(std::size_t b, std::size_t h, std::size_t l, std::size_t w)
      : samples(b), heads(h), length(l), width(w), numbers(b * h * l * w) {}
  Heads(const HeadRows<double>& rows, std::size_t b, std::size_t h)
      : Heads(b, h, rows.length(), rows.width()) {
    for (std::size_t at = 0; at < b * h * length; ++at) {
      const auto row = rows(at / (h * length), at / length % h, at % length);
      std::copy(row.begin(), row.end(), numbers.begin() + static_cast<std::ptrdiff_t>(at * width));
    }
  }

  /// These heads with other numbers.
  Heads with(Numbers others) const {
    Heads result;
    result.samples = samples;
    result.heads = heads;
    result.length = length;
    result.width = width;
    result.numbers = std::move(others);
    return result;
  }

  std::size_t rows() const { return samples * heads * length; }
  double* of(std::size_t b, std::size_t h) {
    return numbers.data() + (b * heads + h) * length * width;
  }
  const double* of(std::size_t b, std::size_t h) const {
    return numbers.data() + (b * heads + h) * length * width;
  }
};

/// Rows [first, first + length) of all heads in the shape of `like`, the tensor that they came
/// from. A repeated sample gets the sum over its repetitions.
Tensor folded(const Heads& rows, std::size_t first, const Tensor& like);

/// x Wᵀ for the rows of all heads.
Heads through(const Heads& x, const Tensor& weight);

/// Gradients of x and W through y = x Wᵀ, given that of y. x and y are rows.
struct Back {
  Numbers x;
  Tensor weight;
};
Back back_through(std::span<const double> x, const Tensor& weight,
                  std::span<const double> y_gradient);

/// gradients() of a request that has been checked, also through norms of queries and keys, whose
/// own parameters get none.
Gradients gradients_of(const AttentionRequest& request, const Tensor& output_gradient);
/// Likewise of a request without a gate.
Gradients gradients_without_gate(const AttentionRequest& request, const Tensor& output_gradient);

/// Gradients [B,H,Lq,Lk] of the weights, hidden ones too, as if each were free.
Tensor weight_gradients(const AttentionRequest& request, const Tensor& output_gradient);

// Gradients of what functions of `attention/linear.hpp` and project() read, given those of what
// they make, in double precision.

/// f'(x), from the left where the sides differ.
double slope(double x, const ActivationCurve& by);
/// Derivative by x [..,in] of what reads x Wᵀ + b, from that by the product.
Tensor product_back(const StoredLinear& linear, const Tensor& gradient, std::size_t threads);
/// Derivative by x [..,D], from that by its norm.
Tensor norm_back(const Norm& norm, const Tensor& x, double eps, const Tensor& gradient);
/// Likewise of one row, in place; the weight may be null.
void norm_back(bool centred, const double* weight, const double* x, std::size_t width, double eps,
               double* gradient);

/// Gradients of projected rows, and of the gate before its sigmoid and of the bias of the scores,
/// both of which may be absent.
struct ProjectedGradients {
  Tensor query, key, value, gate, bias;
};
/// Gradients of the states of the queries, and of those of keys and values where they are others,
/// through project() without a cache. Throws Error(input) for latent states with norms beside their
/// own.
struct StatesGradients {
  Tensor query, key;
};
StatesGradients project_back(const AttentionOptions& options, const Sequences& states,
                             const AttentionWeights& weights, const ProjectedGradients& gradients);

/// Adds what reaches queries and keys through disentangled_bias() from the bias.
void add_disentangled_back(const DisentangledTerms& terms, const AttentionRequest& request,
                           std::span<const std::int64_t> types, ProjectedGradients& gradients);

}  // namespace attn
