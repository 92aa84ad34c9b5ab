#include <cmath>
#include <utility>

#include "explain/explained_steps.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Numbers = std::vector<double>;

// name: Σ x², of terms such as "(-0.5)²".
Explanation::Sum sum_of_squares(std::string name, std::span<const double> x, double total) {
  Explanation::Sum sum{std::move(name), {}, shown_number(total)};
  for (const double value : x) {
    const std::string text = shown_number(value);
    sum.terms.push_back({false, (value < 0 ? "(" + text + ")" : text) + "²"});
  }
  return sum;
}

double squares_of(std::span<const double> x) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  return squares;
}

void explain_rms_norm(const Norm& norm, double eps, std::span<const double> x,
                      std::span<const double> y, Explanation& to) {
  to.step(translated("RMS norm"));
  const std::string size = std::to_string(x.size());
  const double squares = squares_of(x), mean = squares / static_cast<double>(x.size());
  const double factor = 1 / std::sqrt(mean + eps);
  to.formula(
      translated("y = x / √(mean of x² + eps) · weight"),
      "y = \\frac{x}{\\sqrt{\\frac{1}{" + size + "} \\sum_d x_d^2 + \\epsilon}} \\odot \\gamma");
  to.put(Explanation::Sums{
      {sum_of_squares(translated("sum of x²"), x, squares)}, Excerpt::all(1), {}});
  to.item(
      translated("mean of x² = {1} / {2} = {3}", shown_number(squares), size, shown_number(mean)));
  to.item(translated("factor = 1 / √(mean + eps) = 1 / √({1} + {2}) = {3}", shown_number(mean),
                     shown_number(eps), shown_number(factor)));
  std::vector<Explanation::Vectors::Row> rows{named_vector("x", x)};
  if (const Tensor weight = norm.weight.converted(DType::float64)) {
    rows.push_back(named_vector(translated("weight"), weight.values<double>()));
  }
  rows.push_back(named_vector("y", y));
  show_vectors(std::move(rows), to);
}

void explain_layer_norm(const Norm& norm, double eps, std::span<const double> x,
                        std::span<const double> y, Explanation& to) {
  to.step(translated("Layer norm"));
  const auto width = static_cast<double>(x.size());
  const std::string size = std::to_string(x.size());
  double sum = 0;
  for (const double value : x) sum += value;
  const double mean = sum / width;
  Numbers deviations, normalised;
  for (const double value : x) deviations.push_back(value - mean);
  const double squares = squares_of(deviations), variance = squares / width;
  const double factor = 1 / std::sqrt(variance + eps);
  for (const double deviation : deviations) normalised.push_back(deviation * factor);

  Explanation::Sum total{translated("sum of x"), {}, shown_number(sum)};
  for (const double value : x) total.terms.push_back(number_term(value));
  to.formula(translated("mean = sum of x / {1}, variance = sum of (x - mean)² / {1}", size),
             "\\mu = \\frac{1}{" + size + "} \\sum_d x_d, \\qquad \\sigma^2 = \\frac{1}{" + size +
                 "} \\sum_d (x_d - \\mu)^2");
  to.put(Explanation::Sums{
      {std::move(total), sum_of_squares(translated("sum of (x - mean)²"), deviations, squares)},
      Excerpt::all(2),
      {}});
  to.item(translated("mean = {1} / {2} = {3}", shown_number(sum), size, shown_number(mean)));
  to.item(translated("variance = {1} / {2} = {3}", shown_number(squares), size,
                     shown_number(variance)));
  to.item(translated("factor = 1 / √(variance + eps) = 1 / √({1} + {2}) = {3}",
                     shown_number(variance), shown_number(eps), shown_number(factor)));
  to.formula(translated("y = (x - mean) · factor · weight + bias"),
             "y = \\frac{x - \\mu}{\\sqrt{\\sigma^2 + \\epsilon}} \\odot \\gamma + \\beta");
  std::vector<Explanation::Vectors::Row> rows{named_vector(translated("x - mean"), deviations),
                                              named_vector(translated("· factor"), normalised)};
  if (const Tensor weight = norm.weight.converted(DType::float64)) {
    rows.push_back(named_vector(translated("weight"), weight.values<double>()));
  }
  if (const Tensor bias = norm.bias.converted(DType::float64)) {
    rows.push_back(named_vector(translated("bias"), bias.values<double>()));
  }
  rows.push_back(named_vector("y", y));
  show_vectors(std::move(rows), to);
}

}  // namespace

void explain_linear(const StoredLinear& linear, std::span<const double> x, std::size_t first,
                    std::span<const double> y, const std::string& name, Explanation& explanation) {
  constexpr std::size_t most_rows = 4, first_rows = 2, last_rows = 1;
  const Tensor bias = linear.bias.converted(DType::float64);
  Explanation::Sums sums{
      {}, explanation.excerpt(y.size(), most_rows, first_rows, last_rows), components_left_out};
  for (const std::size_t row : sums.rows.indices()) {
    Explanation::Sum sum = product_sum(name + "[" + std::to_string(row) + "]", x,
                                       linear.weight.row(first + row), y[row]);
    if (bias) sum.terms.push_back(number_term(bias.values<double>()[first + row]));
    sums.sums.push_back(std::move(sum));
  }
  explanation.put(std::move(sums));
}

void explain_norm(const Norm& norm, double eps, std::span<const double> x,
                  std::span<const double> y, Explanation& explanation) {
  norm.kind == NormKind::rms ? explain_rms_norm(norm, eps, x, y, explanation)
                             : explain_layer_norm(norm, eps, x, y, explanation);
}

Explanation::Vectors::Row named_vector(std::string name, std::span<const double> values) {
  return {std::move(name), {values.begin(), values.end()}};
}

void show_vectors(std::vector<Explanation::Vectors::Row> rows, Explanation& explanation) {
  const Excerpt all = Excerpt::all(rows.size());
  explanation.put(Explanation::Vectors{std::move(rows), all, {}});
}

}  // namespace attn
