#include "why/attribution.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "attention/gradient_rows.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"
#include "why/reverse_pass.hpp"

namespace attn {
namespace {

class Attribution : ReversePass {
 public:
  Attribution(const ModelPass& pass, bool weights) : ReversePass(pass, weights) {}

  SweepEffects effects(const std::vector<std::int64_t>& source, const SweepChoice& choice,
                       const DifferenceTokens& tokens) {
    SweepEffects effects;
    effects.tokens = keep_both(source, tokens);
    effects.source = differences(source_.leaving).front();
    gradients_ = reversed(entering(own_, 0), length_ - 1);
    effects.own = gradients_.value;
    for (const PatchedPart part : choice.parts) effects.parts.push_back(swept(part, choice));
    return effects;
  }

  LogitAttribution attributed(const GradientChoice& choice) {
    keep_own();
    LogitAttribution all;
    all.position = choice.position.value_or(length_ - 1);
    const Tensor at_position = logits_at(own_.leaving, std::span(&all.position, 1));
    const std::span<const double> logits = at_position.values<double>();
    all.token = choice.terms.token.value_or(
        static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin()));
    all.against = choice.terms.against;
    std::vector<std::size_t> tokens{all.token};
    if (all.against) tokens.push_back(*all.against);
    choose(tokens);
    const Tensor& own = entering(own_, 0);
    gradients_ = reversed(own, all.position);
    all.value = gradients_.value;
    all.inputs = by_token(own, gradients_.layers.front().states);
    for (std::size_t n = 0; n < stack_.count; ++n) add_heads(n, all);
    if (choice.steps > 0) integrate(choice, all);
    return all;
  }

 private:
  // Σ of the products of rows [1,L,W], of each row.
  static std::vector<double> by_token(const Tensor& states, const Tensor& gradient) {
    const std::size_t width = states.shape().back();
    std::vector<double> sums(states.size() / width);
    const auto state = states.values<double>(), slope = gradient.values<double>();
    for (std::size_t i = 0; i < state.size(); ++i) sums[i / width] += state[i] * slope[i];
    return sums;
  }

  void add_heads(std::size_t n, LogitAttribution& all) const {
    const Tensor& weights = own_.layers[n].weights;
    if (!weights) return;
    const Tensor map = mapped(
        options_.threads, [](double weight, double slope) { return weight * slope; }, weights,
        gradients_.layers[n].weights);
    const std::size_t heads = map.shape()[1], cells = map.size() / heads;
    std::vector<double>& sums = all.heads.emplace_back();
    for (std::size_t h = 0; h < heads; ++h) {
      const auto own = map.values<double>().subspan(h * cells, cells);
      sums.push_back(std::accumulate(own.begin(), own.end(), 0.0));
    }
    all.layers.push_back(n);
  }

  void integrate(const GradientChoice& choice, LogitAttribution& all) {
    const Tensor& own = entering(own_, 0);
    const Tensor baseline =
        choice.baseline
            ? embed(stack_.embedding, std::vector(length_, *choice.baseline), {}, stack_.options)
            : Tensor(own.shape(), Numbers(own.size(), 0.0));
    const auto between = [&](double share) {
      return mapped(
          options_.threads, [=](double from, double to) { return from + share * (to - from); },
          baseline, own);
    };
    Tensor gradient(own.shape(), Numbers(own.size(), 0.0));
    for (std::size_t s = 0; s < choice.steps; ++s) {
      const double share = (static_cast<double>(s) + 0.5) / static_cast<double>(choice.steps);
      gradient = sum(gradient, reversed(between(share), all.position).layers.front().states);
    }
    const Tensor change = mapped(
        options_.threads, [](double from, double to) { return to - from; }, baseline, own);
    all.integrated = by_token(change, divided(gradient, static_cast<double>(choice.steps)));
    begin();
    all.baseline_value = value_at(leaving_from(0, baseline, 0), all.position);
    const double total = std::accumulate(all.integrated.begin(), all.integrated.end(), 0.0);
    all.error = total - (all.value - all.baseline_value);
  }

  double value_at(const Tensor& leaving, std::size_t row) const {
    const Tensor at_row = logits_at(leaving, std::span(&row, 1));
    const std::span<const double> logits = at_row.values<double>();
    return logits.size() > 1 ? logits[0] - logits[1] : logits[0];
  }

  // A part in both texts, and the derivative by it.
  struct Changed {
    Tensor own, other, gradient;
  };

  Changed changed(PatchedPart part, std::size_t n) const {
    const KeptLayer &own = own_.layers[n], &other = source_.layers[n];
    const LayerGradients& by = gradients_.layers[n];
    switch (part) {
      case PatchedPart::before:
        return {entering(own_, n), entering(source_, n), by.states};
      case PatchedPart::residual:
        return {entering(own_, n + 1), entering(source_, n + 1),
                n + 1 < stack_.count ? gradients_.layers[n + 1].states : gradients_.leaving};
      case PatchedPart::feed_forward:
        return {own.feed_forward, other.feed_forward, by.feed_forward};
      case PatchedPart::queries:
        return {own.sequences().query, other.sequences().query, by.query};
      case PatchedPart::keys:
        return {own.sequences().key, other.sequences().key, by.key};
      case PatchedPart::values:
        return {own.sequences().value, other.sequences().value, by.value};
      case PatchedPart::patterns:
        return {own.weights, other.weights, by.weights};
      case PatchedPart::attention:
      case PatchedPart::heads:
        break;
    }
    return {own.outputs, other.outputs, by.heads};
  }

  // Σ (other − own) · derivative of each unit at each position.
  std::vector<std::vector<double>> linear(PatchedPart part, std::size_t n,
                                          std::size_t units) const {
    const Changed of = changed(part, n);
    const auto own = of.own.values<double>(), other = of.other.values<double>(),
               slope = of.gradient.values<double>();
    std::vector<std::vector<double>> sums(units, std::vector<double>(length_, 0.0));
    const std::size_t of_unit = own.size() / units / length_;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t block = i / of_unit;  // rows of a unit, or units of a row
      const bool by_unit = part == PatchedPart::patterns;
      const std::size_t unit = by_unit ? block / length_ : block % units,
                        position = by_unit ? block % length_ : block / units;
      sums[unit][position] += (other[i] - own[i]) * slope[i];
    }
    return sums;
  }

  SweptPart swept(PatchedPart part, const SweepChoice& choice) const {
    SweptPart all{part, choice.by_position || !info(part).of_heads, {}, {}, {}};
    for (std::size_t n = 0; n < stack_.count; ++n) {
      const std::size_t units = units_of(part, n);
      if (!has(part, n)) continue;
      all.layers.push_back(n);
      all.units.push_back(units);
      std::vector<double> whole;
      for (std::vector<double>& row : linear(part, n, units)) {
        whole.push_back(std::accumulate(row.begin(), row.end(), gradients_.value));
        for (double& number : row) number += gradients_.value;
        if (all.by_position) all.patched.push_back(std::move(row));
      }
      if (!all.by_position) all.patched.push_back(std::move(whole));
    }
    return all;
  }

  LogitGradients gradients_;
};

}  // namespace

SweepEffects attributed_sweep(const ModelPass& pass, const SweepChoice& choice,
                              const DifferenceTokens& tokens) {
  const bool weights = std::ranges::count(choice.parts, PatchedPart::patterns) > 0;
  return Attribution(pass, weights).effects(pass.options.patch->ids, choice, tokens);
}

LogitAttribution attribute(const ModelPass& pass, const GradientChoice& choice) {
  return Attribution(pass, true).attributed(choice);
}

}  // namespace attn
