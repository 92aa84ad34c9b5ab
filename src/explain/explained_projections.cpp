#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "attention/head_rows.hpp"
#include "attention/linear.hpp"
#include "explain/explained_layers.hpp"
#include "explain/explained_steps.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t most_heads = 16, first_heads = 8, last_heads = 4;

std::string rows_text(std::size_t head, std::size_t width) {
  return width == 1 ? translated("row {1}", head)
                    : translated("rows {1} to {2}", head * width, (head + 1) * width - 1);
}

class Projected {
 public:
  Projected(const AttendedStates& attended, const PlannedAttention& attention, QueryChoice choice,
            Explanation& explanation)
      : attended_(attended),
        weights_(attended.weights),
        states_(attended.states, 1),
        choice_(choice),
        geometry_(attention.geometry),
        query_(attended.request, attended.result, attention, choice),
        to_(explanation) {}

  void explain() {
    explain_query();
    explain_keys_and_values();
    explain_attention(query_, to_);
    if (geometry_.heads > 1) explain_joining();
    if (weights_.output) explain_output();
  }

 private:
  // The query of a latent attention, which is made of the state by way of a narrow vector.
  void explain_latent_query() {
    to_.step(translated("The query is projected"));
    to_.paragraph(
        translated("The hidden state x of {1}:", query_.query_names().in_prose(choice_.query)));
    show_vectors({named_vector("x", states_(choice_.sample, 0, choice_.query))}, to_);
    to_.paragraph(
        weights_.latent->query
            ? translated("x is projected to {1} numbers, which are normed and projected to the "
                         "queries of all heads. That of head {2}, its rotated numbers first:",
                         weights_.latent->query.weight.shape()[0], choice_.head)
            : translated("x is projected to the queries of all heads. That of head {1}, its "
                         "rotated numbers first:",
                         choice_.head));
    show_vectors({named_vector("q", query_.given_query())}, to_);
  }

  void explain_query() {
    if (weights_.latent) return explain_latent_query();
    to_.step(translated("The query is projected"));
    const auto x = states_(choice_.sample, 0, choice_.query);
    to_.paragraph(
        translated("The hidden state x of {1}:", query_.query_names().in_prose(choice_.query)));
    show_vectors({named_vector("x", x)}, to_);
    to_.formula(weights_.query.bias ? "q = x W_qᵀ + b_q" : "q = x W_qᵀ",
                weights_.query.bias ? "q = x\\,W_q^\\top + b_q" : "q = x\\,W_q^\\top");
    const std::size_t width = geometry_.query_width;
    if (geometry_.heads > 1) {
      const std::string rows = rows_text(choice_.head, width);
      to_.paragraph(
          weights_.query.bias
              ? translated("Head {1} of {2} has {3} of W_q to itself; the last term is the bias.",
                           choice_.head, geometry_.heads, rows)
              : translated("Head {1} of {2} has {3} of W_q to itself.", choice_.head,
                           geometry_.heads, rows));
    } else if (weights_.query.bias) {
      to_.paragraph(translated("The last term is the bias."));
    }
    const std::size_t first = choice_.head * width;
    if (!weights_.query_norm && !weights_.clip) {
      explain_linear(weights_.query, x, first, query_.given_query(), "q", to_);
      return;
    }
    // In the type of the states, as in the pass itself.
    const Tensor projected = apply(
        weights_.query,
        Tensor({1, x.size()}, Numbers(x.begin(), x.end())).converted(attended_.states.dtype()), 1);
    const Tensor bare = projected.converted(DType::float64);
    const double eps = attended_.request.eps;
    explain_linear(weights_.query, x, first, bare.values<double>().subspan(first, width), "q", to_);
    if (weights_.query_norm) {
      // The norm is of all heads together.
      const Tensor normed =
          apply(*weights_.query_norm, projected, eps, 1).converted(DType::float64);
      explain_norm(*weights_.query_norm, eps, bare.values<double>(), normed.values<double>(), to_);
      to_.paragraph(
          translated("This norm is over the queries of all heads together; keys have one "
                     "likewise. The query of this head:"));
    }
    if (weights_.clip) {
      to_.paragraph(translated("The numbers of queries, keys and values are cut off at ±{1}.",
                               shown_number(*weights_.clip)));
    }
    show_vectors({named_vector("q", query_.given_query())}, to_);
  }

  void explain_keys_and_values() {
    to_.step(translated("Keys and values are projected"));
    const std::size_t head = choice_.head / (geometry_.heads / geometry_.kv_heads);
    if (weights_.latent) {
      to_.paragraph(
          translated("The state of each position that is attended to is projected to {1} numbers, "
                     "which are normed and projected to keys and values of all heads. {2} more "
                     "numbers, made of the state too, come first in the keys of all heads.",
                     weights_.latent->key_value.weight.shape()[0],
                     weights_.latent->shared_key.weight.shape()[0]));
      show_keys_and_values();
      return;
    }
    const std::string formulas = std::string("k = x W_kᵀ") + (weights_.key.bias ? " + b_k" : "") +
                                 ", v = x W_vᵀ" + (weights_.value.bias ? " + b_v" : "");
    to_.paragraph(
        geometry_.kv_heads > 1
            ? translated("Likewise each position that is attended to: {1}; of W_k, this head has "
                         "{2}, of W_v {3}.",
                         formulas, rows_text(head, geometry_.key_width),
                         rows_text(head, geometry_.value_width))
            : translated("Likewise each position that is attended to: {1}.", formulas));
    show_keys_and_values();
  }

  void show_keys_and_values() {
    Explanation::Vectors keys{{}, query_.shown_keys(), keys_left_out}, values = keys;
    for (const std::size_t j : query_.shown_keys().indices()) {
      keys.vectors.push_back(
          named_vector(query_.key_names().in_table("k", j), query_.given_key(j)));
      values.vectors.push_back(named_vector(query_.key_names().in_table("v", j), query_.value(j)));
    }
    to_.put(std::move(keys));
    to_.put(std::move(values));
  }

  std::span<const double> joined() const {
    const std::size_t width = geometry_.heads * geometry_.value_width;
    return attended_.joined.values<double>().subspan(
        (choice_.sample * geometry_.queries + choice_.query) * width, width);
  }

  void explain_joining() {
    to_.step(translated("The heads are joined"));
    to_.paragraph(translated(
        "Every head computes its own output for this query in the same way. They are put side by "
        "side: {1} · {2} = {3} numbers.",
        geometry_.heads, geometry_.value_width, geometry_.heads * geometry_.value_width));
    Explanation::Vectors block{
        {},
        to_.excerpt(geometry_.heads, most_heads, first_heads, last_heads),
        {to_translate("… {1} more head …"), to_translate("… {1} more heads …")}};
    block.rows.include(choice_.head);
    for (const std::size_t head : block.rows.indices()) {
      block.vectors.push_back(
          named_vector(translated("head {1}", head),
                       joined().subspan(head * geometry_.value_width, geometry_.value_width)));
    }
    to_.put(std::move(block));
  }

  void explain_output() {
    to_.step(translated("The output projection"));
    const StoredLinear& linear = weights_.output;
    const std::string o = geometry_.heads > 1 ? translated("joined W_oᵀ") : "out W_oᵀ";
    to_.formula("y = " + o + (linear.bias ? " + b_o" : ""),
                "y = " +
                    (geometry_.heads > 1 ? std::string("[o_1; \\ldots; o_{" +
                                                       std::to_string(geometry_.heads) + "}]")
                                         : std::string("o")) +
                    "\\,W_o^\\top" + (linear.bias ? " + b_o" : ""));
    const std::size_t width = linear.weight.shape()[0];
    const auto output = attended_.output.values<double>().subspan(
        (choice_.sample * geometry_.queries + choice_.query) * width, width);
    explain_linear(linear, joined(), 0, output, "y", to_);
    show_vectors({named_vector("y", output)}, to_);
  }

  const AttendedStates& attended_;
  const AttentionWeights& weights_;
  HeadRows<double> states_;
  QueryChoice choice_;
  const Geometry& geometry_;
  ExplainedQuery query_;
  Explanation& to_;
};

}  // namespace

void explain_attention(const ExplainedQuery& query, Explanation& explanation) {
  explain_preparation(query, explanation);
  explain_scores(query, explanation);
  if (!query.capped_last()) explain_softcap(query, explanation);
  explain_position_bias(query, explanation);
  if (query.capped_last()) explain_softcap(query, explanation);
  explain_mask(query, explanation);
  explain_weights(query, explanation);
}

void explain_projected(const AttendedStates& attended, const PlannedAttention& attention,
                       QueryChoice choice, Explanation& explanation) {
  Projected(attended, attention, choice, explanation).explain();
}

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
    std::optional<double> own_bias;
    if (bias) own_bias = bias.values<double>()[first + row];
    sums.sums.push_back(product_sum(name + "[" + std::to_string(row) + "]", x,
                                    linear.weight.row(first + row), y[row], own_bias));
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
