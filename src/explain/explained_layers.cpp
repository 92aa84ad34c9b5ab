#include "explain/explained_layers.hpp"

#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/head_rows.hpp"
#include "attention/linear.hpp"
#include "attention/transformer.hpp"
#include "explain/explained_linear.hpp"
#include "explain/explained_projections.hpp"
#include "explain/explanation.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Numbers = std::vector<double>;

constexpr std::size_t most_layers = 16, first_layers = 8, last_layers = 4;

struct ShownActivation {
  const char *name, *text, *latex;  // the text to translate
};

const ShownActivation& shown_activation(Activation activation) {
  static const ShownActivation relu{"relu", to_translate("relu(h) = h where h > 0, else 0"),
                                    "\\mathrm{relu}(h) = \\max(0, h)"};
  static const ShownActivation gelu{"gelu",
                                    to_translate("gelu(h) = h · Φ(h), Φ being the normal "
                                                 "distribution function"),
                                    "\\mathrm{gelu}(h) = h\\,\\Phi(h)"};
  static const ShownActivation gelu_tanh{
      "gelu_tanh", "gelu_tanh(h) = h/2 · (1 + tanh(√(2/π)·(h + 0.044715·h³)))",
      "\\mathrm{gelu}(h) \\approx \\tfrac{h}{2}\\left(1 + "
      "\\tanh\\left(\\sqrt{2/\\pi}\\,(h + 0.044715\\,h^3)\\right)\\right)"};
  static const ShownActivation silu{"silu", "silu(h) = h / (1 + exp(-h))",
                                    "\\mathrm{silu}(h) = \\frac{h}{1 + e^{-h}}"};
  switch (activation) {
    case Activation::relu:
      return relu;
    case Activation::gelu:
    case Activation::geglu:
      return gelu;
    case Activation::gelu_tanh:
    case Activation::geglu_tanh:
      return gelu_tanh;
    case Activation::silu:
    case Activation::swiglu:
      break;
  }
  return silu;
}

// The query's hidden state.
Numbers state_of(const Tensor& states, QueryChoice choice) {
  const HeadRows<double> rows(states, 1);
  const auto row = rows(choice.sample, 0, choice.query);
  return {row.begin(), row.end()};
}

/// One layer for one query.
class Layer {
 public:
  Layer(const TransformerRequest& request, const TransformerResult& result,
        std::span<const PlannedAttention> attentions, QueryChoice choice, std::size_t layer,
        Explanation& explanation)
      : request_(request),
        layer_(request.layers[layer]),
        result_(result.layers[layer]),
        attentions_(attentions.subspan(layer * (request.decoder ? 2 : 1))),
        choice_(choice),
        layer_number_(layer + 1),
        to_(explanation) {}

  void explain() {
    std::size_t at = 0;
    sublayer(heading(translated("Self-attention"),
                     translated("Layer {1}: self-attention", layer_number_)),
             layer_.norm1, result_.sublayers[at], [&](const SubLayer& states) {
               explain_projected(self_attention(request_, layer_, states.input), result_.self,
                                 attentions_[0], choice_, to_);
             });
    if (request_.decoder) {
      ++at;
      sublayer(heading(translated("Cross-attention"),
                       translated("Layer {1}: cross-attention", layer_number_)),
               layer_.norm2, result_.sublayers[at], [&](const SubLayer& states) {
                 explain_projected(cross_attention(request_, layer_, states.input), result_.cross,
                                   attentions_[1], choice_, to_);
               });
    }
    ++at;
    sublayer(
        heading(translated("Feed-forward"), translated("Layer {1}: feed-forward", layer_number_)),
        request_.decoder ? layer_.norm3 : layer_.norm2, result_.sublayers[at],
        [&](const SubLayer& states) { explain_feed_forward(states); });
  }

 private:
  std::string heading(const std::string& of_one, const std::string& of_several) const {
    return request_.layers.size() > 1 ? of_several : of_one;
  }
  Numbers row(const Tensor& states) const { return state_of(states, choice_); }

  template <class Explain>
  void sublayer(const std::string& title, const LayerNorm& norm, const SubLayer& states,
                const Explain& explain_change) {
    to_.part(title);
    const bool before = request_.norm == NormPlace::pre;
    if (before) explain_norm(norm, row(states.before), row(states.input));
    explain_change(states);
    // The sum with what went around the sub-layer.
    to_.step(translated("The residual is added"));
    const auto x = row(states.before), change = row(states.change);
    Numbers sum;
    for (std::size_t d = 0; d < x.size(); ++d) sum.push_back(x[d] + change[d]);
    to_.paragraph(
        before
            ? translated("What went into the sub-layer is added to what came out, past the norm.")
            : translated("What went into the sub-layer is added to what came out."));
    show_vectors({named_vector("x", x), named_vector(translated("change"), change),
                  named_vector(translated("sum"), sum)},
                 to_);
    if (!before) explain_norm(norm, sum, row(states.after));
  }

  void explain_rms_norm(const LayerNorm& norm, std::span<const double> x,
                        std::span<const double> y) {
    to_.step(translated("RMS norm"));
    const Tensor weight = norm.weight.converted(DType::float64);
    const std::string size = std::to_string(x.size());
    Explanation::Sum squared{translated("sum of x²"), {}, ""};
    double squares = 0;
    for (const double value : x) {
      const std::string text = shown_number(value);
      squared.terms.push_back({false, (value < 0 ? "(" + text + ")" : text) + "²"});
      squares += value * value;
    }
    squared.total = shown_number(squares);
    const double mean = squares / static_cast<double>(x.size());
    const double factor = 1 / std::sqrt(mean + request_.eps);
    to_.formula(
        translated("y = x / √(mean of x² + eps) · weight"),
        "y = \\frac{x}{\\sqrt{\\frac{1}{" + size + "} \\sum_d x_d^2 + \\epsilon}} \\odot \\gamma");
    to_.put(Explanation::Sums{{std::move(squared)}, Excerpt::all(1), {}});
    to_.item(translated("mean of x² = {1} / {2} = {3}", shown_number(squares), size,
                        shown_number(mean)));
    to_.item(translated("factor = 1 / √(mean + eps) = 1 / √({1} + {2}) = {3}", shown_number(mean),
                        shown_number(request_.eps), shown_number(factor)));
    std::vector<Explanation::Vectors::Row> rows{named_vector("x", x)};
    if (weight) rows.push_back(named_vector(translated("weight"), weight.values<double>()));
    rows.push_back(named_vector("y", y));
    show_vectors(std::move(rows), to_);
  }

  void explain_norm(const LayerNorm& norm, std::span<const double> x, std::span<const double> y) {
    if (request_.norm_kind == NormKind::rms) {
      explain_rms_norm(norm, x, y);
      return;
    }
    to_.step(translated("Layer norm"));
    const Tensor weight = norm.weight.converted(DType::float64),
                 bias = norm.bias.converted(DType::float64);
    const auto width = static_cast<double>(x.size());
    const std::string size = std::to_string(x.size());
    double sum = 0, squares = 0;
    for (const double value : x) sum += value;
    const double mean = sum / width;
    Numbers deviations;
    for (const double value : x) deviations.push_back(value - mean);
    for (const double deviation : deviations) squares += deviation * deviation;
    const double variance = squares / width, factor = 1 / std::sqrt(variance + request_.eps);
    Numbers normalised;
    for (const double deviation : deviations) normalised.push_back(deviation * factor);

    Explanation::Sum total{translated("sum of x"), {}, shown_number(sum)};
    for (const double value : x) total.terms.push_back(number_term(value));
    to_.formula(translated("mean = sum of x / {1}, variance = sum of (x - mean)² / {1}", size),
                "\\mu = \\frac{1}{" + size + "} \\sum_d x_d, \\qquad \\sigma^2 = \\frac{1}{" +
                    size + "} \\sum_d (x_d - \\mu)^2");
    Explanation::Sum squared{translated("sum of (x - mean)²"), {}, shown_number(squares)};
    for (const double deviation : deviations) {
      const std::string text = shown_number(deviation);
      squared.terms.push_back({false, (deviation < 0 ? "(" + text + ")" : text) + "²"});
    }
    to_.put(Explanation::Sums{{std::move(total), std::move(squared)}, Excerpt::all(2), {}});
    to_.item(translated("mean = {1} / {2} = {3}", shown_number(sum), size, shown_number(mean)));
    to_.item(translated("variance = {1} / {2} = {3}", shown_number(squares), size,
                        shown_number(variance)));
    to_.item(translated("factor = 1 / √(variance + eps) = 1 / √({1} + {2}) = {3}",
                        shown_number(variance), shown_number(request_.eps), shown_number(factor)));
    to_.formula(translated("y = (x - mean) · factor · weight + bias"),
                "y = \\frac{x - \\mu}{\\sqrt{\\sigma^2 + \\epsilon}} \\odot \\gamma + \\beta");
    std::vector<Explanation::Vectors::Row> rows{named_vector(translated("x - mean"), deviations),
                                                named_vector(translated("· factor"), normalised)};
    if (weight) rows.push_back(named_vector(translated("weight"), weight.values<double>()));
    if (bias) rows.push_back(named_vector(translated("bias"), bias.values<double>()));
    rows.push_back(named_vector("y", y));
    show_vectors(std::move(rows), to_);
  }

  void explain_feed_forward(const SubLayer& states) {
    const auto x = row(states.input), output = row(states.change);
    const Tensor input({1, x.size()}, Numbers(x.begin(), x.end()));
    const Tensor hidden_states = apply(layer_.linear1, input, 1);
    const auto hidden = hidden_states.values<double>();
    Numbers active;
    for (const double h : hidden) active.push_back(activated(h, curve_of(request_.activation)));

    to_.step(translated("Into the wider space"));
    to_.formula("h = x W1ᵀ + b1", "h = x\\,W_1^\\top + b_1");
    show_vectors({named_vector("x", x)}, to_);
    explain_linear(layer_.linear1, x, 0, hidden, "h", to_);
    to_.step(translated("The activation"));
    const ShownActivation& shown = shown_activation(request_.activation);
    to_.formula(translated(shown.text), shown.latex);
    const std::string called = std::string(shown.name) + "(h)";
    show_vectors({named_vector("h", hidden), named_vector(called, active)}, to_);
    if (gated(request_.activation)) {
      to_.step(translated("The gate"));
      to_.paragraph(translated(
          "What linear3 makes of x is multiplied by the activated h, number by number."));
      to_.formula(
          "g = x W3ᵀ + b3, a = " + called + " · g",
          "g = x\\,W_3^\\top + b_3, \\qquad a = " + std::string(shown.name) + "(h) \\odot g");
      const Tensor gates = apply(layer_.linear3, input, 1);
      const auto gate = gates.values<double>();
      explain_linear(layer_.linear3, x, 0, gate, "g", to_);
      for (std::size_t i = 0; i < active.size(); ++i) active[i] *= gate[i];
      show_vectors({named_vector("g", gate), named_vector("a", active)}, to_);
    }
    to_.step(translated("And back"));
    to_.formula(translated("y = a W2ᵀ + b2, a being the activated h"), "y = a\\,W_2^\\top + b_2");
    explain_linear(layer_.linear2, active, 0, output, "y", to_);
    show_vectors({named_vector("y", output)}, to_);
  }

  const TransformerRequest& request_;
  const TransformerLayer& layer_;
  const TransformerResult::Layer& result_;
  std::span<const PlannedAttention> attentions_;  // from the layer's first on
  QueryChoice choice_;
  std::size_t layer_number_;
  Explanation& to_;
};

}  // namespace

void explain_layers(const TransformerRequest& request, const TransformerResult& result,
                    std::span<const PlannedAttention> attentions, QueryChoice choice,
                    std::size_t layer, Explanation& explanation) {
  Layer(request, result, attentions, choice, layer, explanation).explain();
  if (request.layers.size() < 2) return;

  explanation.part(translated("All layers"));
  explanation.step(translated("What each layer makes of this hidden state"));
  explanation.paragraph(
      translated("The walk above is through layer {1}; any other can be asked for.", layer + 1));
  Explanation::Vectors block{
      {},
      explanation.excerpt(request.layers.size(), most_layers, first_layers, last_layers),
      {to_translate("… {1} more layer …"), to_translate("… {1} more layers …")}};
  block.rows.include(layer);
  show_vectors({{"x", state_of(result.layers[0].sublayers[0].before, choice)}}, explanation);
  for (const std::size_t i : block.rows.indices()) {
    block.vectors.push_back({translated("after layer {1}", i + 1),
                             state_of(result.layers[i].sublayers.back().after, choice)});
  }
  explanation.put(std::move(block));
}

}  // namespace attn
