#include "explain/explained_layers.hpp"

#include <utility>

#include "attention/attention_steps.hpp"
#include "attention/head_rows.hpp"
#include "explain/explained_steps.hpp"
#include "layers/torch_layers.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

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
  static const ShownActivation relu_squared{"relu2",
                                            to_translate("relu2(h) = h² where h > 0, else 0"),
                                            "\\mathrm{relu2}(h) = \\max(0, h)^2"};
  static const ShownActivation gelu{"gelu",
                                    to_translate("gelu(h) = h · Φ(h), Φ being the normal "
                                                 "distribution function"),
                                    "\\mathrm{gelu}(h) = h\\,\\Phi(h)"};
  static const ShownActivation gelu_tanh{
      "gelu_tanh", "gelu_tanh(h) = h/2 · (1 + tanh(√(2/π)·(h + 0.044715·h³)))",
      "\\mathrm{gelu}(h) \\approx \\tfrac{h}{2}\\left(1 + "
      "\\tanh\\left(\\sqrt{2/\\pi}\\,(h + 0.044715\\,h^3)\\right)\\right)"};
  static const ShownActivation gelu_bloom{
      "gelu", "gelu(h) = h/2 · (1 + tanh(0.79788456·(h + 0.044715·h³)))",
      "\\mathrm{gelu}(h) \\approx \\tfrac{h}{2}\\left(1 + "
      "\\tanh\\left(0.79788456\\,(h + 0.044715\\,h^3)\\right)\\right)"};
  static const ShownActivation quick_gelu{
      "quick_gelu", "quick_gelu(h) = h / (1 + exp(-1.702·h))",
      "\\mathrm{gelu}(h) \\approx \\frac{h}{1 + e^{-1.702\\,h}}"};
  static const ShownActivation silu{"silu", "silu(h) = h / (1 + exp(-h))",
                                    "\\mathrm{silu}(h) = \\frac{h}{1 + e^{-h}}"};
  switch (activation) {
    case Activation::relu:
      return relu;
    case Activation::relu_squared:
      return relu_squared;
    case Activation::gelu:
      return gelu;
    case Activation::gelu_tanh:
      return gelu_tanh;
    case Activation::gelu_bloom:
      return gelu_bloom;
    case Activation::quick_gelu:
      return quick_gelu;
    case Activation::silu:
      break;
  }
  return silu;
}

const ShownActivation& shown_activation(const LayerSpec& spec) {
  static const ShownActivation learned{
      "xielu",
      to_translate("xielu(h) = αp·h² + β·h where h > 0, else αn·(exp(min(h, ε)) - 1 - h) + β·h, "
                   "with constants of this layer"),
      "\\mathrm{xielu}(h) = \\alpha_p h^2 + \\beta h \\;(h > 0), \\quad "
      "\\alpha_n\\left(e^{\\min(h, \\epsilon)} - 1 - h\\right) + \\beta h"};
  return spec.xielu ? learned : shown_activation(spec.activation);
}

// The query's hidden state.
Numbers state_of(const Tensor& states, QueryChoice choice) {
  const HeadRows<double> rows(states, 1);
  const auto row = rows(choice.sample, 0, choice.query);
  return {row.begin(), row.end()};
}

class LayerWalk {
 public:
  LayerWalk(const ExplainedLayer& explained, QueryChoice choice, Explanation& explanation)
      : explained_(explained),
        spec_(explained.layer.spec),
        weights_(explained.layer.weights),
        step_(explained.step),
        choice_(choice),
        to_(explanation) {}

  void explain() {
    const std::optional<Norm> none;
    auto states = step_.sublayers.begin();
    sublayer({heading(translated("Self-attention"), to_translate("{1}: self-attention")),
              weights_.before_attention, weights_.after_attention,
              spec_.parallel ? none : weights_.after_attention_sum},
             *states++, [&](const SubLayer& own) { attention(true, own); });
    if (weights_.cross.query) {
      sublayer({heading(translated("Cross-attention"), to_translate("{1}: cross-attention")),
                weights_.before_cross, weights_.after_cross, weights_.after_cross_sum},
               *states++, [&](const SubLayer& own) { attention(false, own); });
    }
    if (!weights_.feeds_forward()) return;
    sublayer({heading(translated("Feed-forward"), to_translate("{1}: feed-forward")),
              weights_.before_feed_forward, weights_.after_feed_forward,
              spec_.parallel ? none : weights_.after_feed_forward_sum},
             *states, [&](const SubLayer& own) { feed_forward(own); });
  }

 private:
  struct Part {
    std::string title;
    const std::optional<Norm>&before, &of_branch, &of_sum;
  };

  std::string heading(const std::string& of_one, const char* of_several) const {
    return explained_.name.empty() ? of_one : translated(of_several, explained_.name);
  }
  Numbers row(const Tensor& states) const { return state_of(states, choice_); }
  void norm(const std::optional<Norm>& of, std::span<const double> x, std::span<const double> y) {
    if (of) explain_norm(*of, spec_.self.eps, x, y, to_);
  }

  template <class ExplainChange>
  void sublayer(const Part& part, const SubLayer& states, const ExplainChange& explain_change) {
    to_.part(part.title);
    norm(part.before, row(states.before), row(states.input));
    explain_change(states);
    const auto x = row(states.residual), branch = row(states.branch);
    scale(row(states.change), row(states.scaled));
    norm(part.of_branch, row(states.scaled), branch);
    to_.step(translated("The residual is added"));
    Numbers sum;
    for (std::size_t d = 0; d < x.size(); ++d) sum.push_back(x[d] + branch[d]);
    to_.paragraph(residual_text(part, states));
    show_vectors({named_vector("x", x), named_vector(translated("change"), branch),
                  named_vector(translated("sum"), sum)},
                 to_);
    norm(part.of_sum, sum, row(states.after));
  }

  // The change, multiplied by a number of the model.
  void scale(std::span<const double> change, std::span<const double> scaled) {
    if (spec_.branch_scale == 1) return;
    to_.step(translated("The output is scaled"));
    to_.paragraph(translated("What the sub-layer makes is multiplied by {1}.",
                             shown_number(spec_.branch_scale)));
    show_vectors({named_vector("y", change), named_vector(translated("scaled change"), scaled)},
                 to_);
  }

  std::string residual_text(const Part& part, const SubLayer& states) const {
    if (spec_.parallel && &states != step_.sublayers.data()) {
      return translated(
          "The output of the attention is added to that of the feed-forward network: both read the "
          "input of the layer.");
    }
    if (part.before && !spec_.residual_after_norm) {
      return translated("The input of the sub-layer, before the norm, is added to its output.");
    }
    return translated("The input of the sub-layer is added to its output.");
  }

  void attention(bool self, const SubLayer& states) {
    if (self ? !explained_.self : !explained_.cross) {
      to_.step(self ? translated("The attention over the layer's own states")
                    : translated("The attention over the encoder's output"));
      to_.paragraph(translated("Its steps are left out here; they are shown for the stack \"{1}\".",
                               self ? "decoder" : "cross"));
      return;
    }
    AttentionRequest request = self ? step_.self_request : step_.cross_request;
    AttentionResult result = self ? step_.self : step_.cross;
    const Tensor joined = result.output.converted(DType::float64);
    // A model's layers are computed without stages.
    if (!result.scores) {
      request.weights = true;
      result = attend(request);
      ScoreStages stages = score_stages(request, result.weights);
      result.scores = std::move(stages.scores);
      result.capped = std::move(stages.capped);
      result.masked = std::move(stages.masked);
      result.lse = std::move(stages.lse);
    }
    request.dtype = explained_.layer.spec.self.dtype;
    const AttentionWeights& weights = self ? weights_.self : weights_.cross;
    if (self && weights_.distances) distances(*weights_.distances, request);
    Tensor projected = weights.output ? states.change.converted(DType::float64) : Tensor();
    const Tensor mixed = self && projected ? step_.mixed : Tensor();
    if (mixed) {
      projected = mapped(
          1, [](double a, double b) { return a - b; }, projected, mixed.converted(DType::float64));
    }
    explain_projected(
        {weights, states.input, std::move(request), std::move(result), joined, projected},
        explained_.attentions[self ? 0 : 1], choice_, to_);
    if (!mixed) return;
    to_.step(translated("The other mixer of tokens"));
    to_.paragraph(
        translated("Beside the attention a state space reads the same states. What it writes, "
                   "without attention weights, is added:"));
    show_vectors({named_vector("y", row(projected)), named_vector(translated("mixer"), row(mixed)),
                  named_vector(translated("sum"), row(states.change))},
                 to_);
  }

  // The terms of scores that are their bias below.
  void distances(const DisentangledTerms& terms, const AttentionRequest& request) {
    to_.step(translated("The distances' own queries and keys"));
    const bool typed = terms.segments && !step_.types.empty();
    to_.paragraph(
        typed ? translated(
                    "A score is the scaled sum of several products: of the query and the key, and "
                    "of the query with what stands for their distance and for whether their types "
                    "are the same, each with a bias of its own that is added to the query. The "
                    "latter are the bias of the scores below; those of head {1} are:",
                    choice_.head)
              : translated(
                    "A score is the scaled sum of several products: of the query and the key, and "
                    "of each with what stands for their distance. The latter are the bias of the "
                    "scores below; those of head {1} are:",
                    choice_.head));
    const auto row_of = [&](const DisentangledTerms& some) {
      const HeadRows<double> bias(disentangled_bias(some, request, step_.types), 1);
      const auto all = bias(choice_.sample, choice_.head, choice_.query);
      return Numbers(all.begin(), all.end());
    };
    std::vector<Explanation::Vectors::Row> vectors;
    if (terms.keys) {
      vectors.push_back(named_vector(translated("query × distance"),
                                     row_of({terms.distances, terms.keys, {}, terms.key_shifts})));
    }
    if (terms.queries) {
      vectors.push_back(
          named_vector(translated("key × distance"), row_of({terms.distances, {}, terms.queries})));
    }
    if (typed) {
      vectors.push_back(named_vector(
          translated("query × type"),
          row_of({terms.distances, {}, {}, {}, terms.segments, terms.segment_shifts})));
    }
    show_vectors(std::move(vectors), to_);
  }

  // "h = x W1ᵀ + b1"
  void product_formula(const std::string& y, const std::string& x, const std::string& number,
                       const StoredLinear& linear) {
    const bool bias = linear.bias || explained_.of_document;
    to_.formula(y + " = " + x + " W" + number + "ᵀ" + (bias ? " + b" + number : ""),
                y + " = " + x + "\\,W_" + number + "^\\top" + (bias ? " + b_" + number : ""));
  }

  // A row [1,D] in the type of the states, in which the layer was computed.
  static Tensor row_of_states(std::span<const double> x, const Tensor& states) {
    return Tensor({1, x.size()}, Numbers(x.begin(), x.end())).converted(states.dtype());
  }

  void feed_forward(const SubLayer& states) {
    const auto x = row(states.input), output = row(states.change);
    if (weights_.experts) {
      experts(row_of_states(x, states.input), output);
      return;
    }
    const Tensor input = row_of_states(x, states.input);
    const StoredLinear& first = weights_.gate ? weights_.gate : weights_.up;
    const Tensor hidden_states = apply(first, input, 1).converted(DType::float64);
    const auto hidden = hidden_states.values<double>();
    Numbers active;
    for (const double h : hidden) {
      active.push_back(spec_.xielu ? xielu(h, *spec_.xielu)
                                   : activated(h, curve_of(spec_.activation)));
    }

    to_.step(translated("Into the wider space"));
    product_formula("h", "x", "1", first);
    show_vectors({named_vector("x", x)}, to_);
    explain_linear(first, x, 0, hidden, "h", to_);
    to_.step(translated("The activation"));
    const ShownActivation& shown = shown_activation(spec_);
    to_.formula(translated(shown.text), shown.latex);
    const std::string called = std::string(shown.name) + "(h)";
    show_vectors({named_vector("h", hidden), named_vector(called, active)}, to_);
    if (weights_.gate) {
      to_.step(translated("The gate"));
      to_.paragraph(
          translated("What {1} makes of x is multiplied by the activated h, element by element.",
                     explained_.of_document ? "linear3" : "W3"));
      const bool bias = weights_.up.bias || explained_.of_document;
      to_.formula("g = x W3ᵀ" + std::string(bias ? " + b3" : "") + ", a = " + called + " · g",
                  "g = x\\,W_3^\\top" + std::string(bias ? " + b_3" : "") +
                      ", \\qquad a = " + std::string(shown.name) + "(h) \\odot g");
      const Tensor gates = apply(weights_.up, input, 1).converted(DType::float64);
      const auto gate = gates.values<double>();
      explain_linear(weights_.up, x, 0, gate, "g", to_);
      for (std::size_t i = 0; i < active.size(); ++i) active[i] *= gate[i];
      show_vectors({named_vector("g", gate), named_vector("a", active)}, to_);
    }
    to_.step(translated("And back"));
    const bool bias = weights_.down.bias || explained_.of_document;
    to_.formula(bias ? translated("y = a W2ᵀ + b2, a being the activated h")
                     : translated("y = a W2ᵀ, a being the activated h"),
                std::string("y = a\\,W_2^\\top") + (bias ? " + b_2" : ""));
    explain_linear(weights_.down, active, 0, output, "y", to_);
    show_vectors({named_vector("y", output)}, to_);
  }

  static const char* rule_of(ShareRule shares) {
    switch (shares) {
      case ShareRule::of_chosen:
        break;
      case ShareRule::of_all:
        return to_translate(
            "The router gives each of the {1} feed-forwards a score. The best {2} are computed, "
            "weighed by their parts of a softmax over all scores:");
      case ShareRule::of_near:
        return to_translate(
            "The router gives each of the {1} feed-forwards a score. The best {2} are computed, "
            "each weighed by its part of a softmax over the scores near its own:");
      case ShareRule::sigmoid:
        return to_translate(
            "The router gives each of the {1} feed-forwards a score. The best {2} are computed, "
            "weighed by the sigmoids of their scores:");
      case ShareRule::sigmoid_of_chosen:
        return to_translate(
            "The router gives each of the {1} feed-forwards a score. The best {2} are computed, "
            "weighed by the sigmoids of their scores as parts of these sigmoids' sum:");
    }
    return to_translate(
        "The router gives each of the {1} feed-forwards a score. The best {2} are computed, "
        "weighed by a softmax over their scores:");
  }

  void experts(const Tensor& states, std::span<const double> output) {
    const Experts& experts = *weights_.experts;
    const Tensor input =
        experts.before_router ? apply(*experts.before_router, states, spec_.self.eps, 1) : states;
    const Tensor numbers_of_input = input.converted(DType::float64);
    const auto x = numbers_of_input.values<double>();
    const Tensor scores = apply(experts.router, input, 1).converted(DType::float64);
    to_.step(translated("The experts"));
    to_.paragraph(translated(rule_of(experts.shares), experts.count, experts.chosen));
    if (experts.groups > 1) {
      to_.paragraph(translated("They come from {1} of {2} groups, those with the best experts.",
                               experts.best_groups, experts.groups));
    }
    if (!experts.correction.empty()) {
      to_.paragraph(translated("A learned number of each is added when they are chosen."));
    }
    if (experts.scale != 1) {
      to_.paragraph(translated("All weights are multiplied by {1}.", shown_number(experts.scale)));
    }
    if (!experts.factors.empty()) {
      to_.paragraph(
          translated("Each expert's weight is multiplied by a learned number of its own."));
    }
    if (experts.before_router) {
      to_.paragraph(
          translated("The router reads the state after a norm of its own, which is x here. What "
                     "the experts read and make, and what the feed-forward of all tokens does, has "
                     "norms too."));
    }
    show_vectors({named_vector("x", x)}, to_);
    explain_linear(experts.router, x, 0, scores.values<double>(), "s", to_);
    Explanation::Column numbers{translated("expert"), {}, false, ""};
    Numbers shown_scores, corrections, shares;
    for (const ExpertShare& taken : best_experts(experts, scores.values<double>())) {
      numbers.cells.push_back(std::to_string(taken.expert));
      shown_scores.push_back(scores.values<double>()[taken.expert]);
      if (!experts.correction.empty()) corrections.push_back(experts.correction[taken.expert]);
      shares.push_back(taken.share);
    }
    std::vector<Explanation::Column> columns{std::move(numbers),
                                             number_column(translated("score"), shown_scores)};
    if (!corrections.empty()) columns.push_back(number_column(translated("added"), corrections));
    columns.push_back(number_column(translated("weight"), shares));
    to_.put(Explanation::Table{std::move(columns), Excerpt::all(shares.size()), {}});
    if (experts.shared) {
      to_.paragraph(
          experts.shared->share
              ? translated("One more feed-forward is computed for every token, its weight being "
                           "the sigmoid of a score of its own.")
              : translated("One more feed-forward is computed for every token, with weight 1."));
      if (experts.halved) to_.paragraph(translated("Half of both together is the result."));
    }
    to_.paragraph(translated("Their results, weighed so, add up to:"));
    show_vectors({named_vector("y", output)}, to_);
  }

  const ExplainedLayer& explained_;
  const LayerSpec& spec_;
  const LayerWeights& weights_;
  const LayerStep& step_;
  QueryChoice choice_;
  Explanation& to_;
};

}  // namespace

void explain_layer(const ExplainedLayer& explained, QueryChoice choice, Explanation& explanation) {
  LayerWalk(explained, choice, explanation).explain();
}

void explain_all_layers(std::span<const Tensor> states, QueryChoice choice, std::size_t layer,
                        Explanation& explanation) {
  const std::size_t layers = states.size() - 1;
  if (layers < 2) return;
  explanation.part(translated("All layers"));
  explanation.step(translated("What each layer does to this hidden state"));
  explanation.paragraph(
      translated("The steps above are those of layer {1}; another layer can be chosen.", layer));
  Explanation::Vectors block{
      {},
      explanation.excerpt(layers, most_layers, first_layers, last_layers),
      {to_translate("… {1} more layer …"), to_translate("… {1} more layers …")}};
  block.rows.include(layer);
  show_vectors({{"x", state_of(states[0], choice)}}, explanation);
  for (const std::size_t i : block.rows.indices()) {
    block.vectors.push_back({translated("after layer {1}", i), state_of(states[i + 1], choice)});
  }
  explanation.put(std::move(block));
}

ExplainedTransformer::ExplainedTransformer(const TransformerRequest& request, std::size_t layer)
    : number_(layer), layer_(layer_of(request, layer)) {
  states_.push_back(states_of(request, DType::float64));
  const Tensor memory = memory_of(request, DType::float64);
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    LayerStep done = step(layer_of(request, i), states_.back(), memory, {.inside = i == layer});
    states_.push_back(done.states);
    if (i == layer) step_ = std::move(done);
  }
  if (request.last_norm) output_ = with_last_norm(request, states_.back());
}

void ExplainedTransformer::explain(std::span<const PlannedAttention> attentions, QueryChoice choice,
                                   Explanation& explanation) const {
  const bool several = states_.size() > 2;
  const std::size_t each = layer_.weights.cross.query ? 2 : 1;
  explain_layer({layer_, step_, attentions.subspan(number_ * each, each),
                 several ? translated("Layer {1}", number_) : "", true},
                choice, explanation);
  explain_all_layers(states_, choice, number_, explanation);
  if (!output_) return;
  if (!several) explanation.part(translated("All layers"));
  explanation.step(translated("The norm after the last layer"));
  show_vectors({{"output", state_of(output_, choice)}}, explanation);
}

}  // namespace attn
