#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attention/gradient_rows.hpp"
#include "layers/layer_gradient.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The derivative of xIELU.
double xielu_slope(double x, const Xielu& by) {
  if (x > 0) return 2 * by.positive * x + by.beta;
  return by.negative * ((x < by.eps ? std::exp(x) : 0) - 1) + by.beta;
}

// One feed-forward: down(f(gate x) ⊙ up x), or down(f(up x)) without a gate.
struct Feed {
  const StoredLinear &gate, &up, &down;
  const ActivationCurve curve;
  const std::optional<Xielu> xielu = {};
  std::size_t threads = 1;

  Tensor back(const Tensor& x, const Tensor& gradient) const {
    const Tensor wide = product_back(down, gradient, threads), above = apply(up, x, threads);
    if (!gate) {
      const auto inner = [&](double dy, double u) {
        return dy * (xielu ? xielu_slope(u, *xielu) : slope(u, curve));
      };
      return product_back(up, mapped(threads, inner, wide, above), threads);
    }
    const Tensor gates = apply(gate, x, threads);
    const auto to_up = [&](double dy, double g) { return dy * activated(g, curve); };
    const auto to_gate = [&](double dy, double g, double u) { return dy * u * slope(g, curve); };
    return sum(product_back(up, mapped(threads, to_up, wide, gates), threads),
               product_back(gate, mapped(threads, to_gate, wide, gates, above), threads));
  }

  Tensor result(const Tensor& x) const {
    return apply(down,
                 gate ? apply(up, x, threads, gating(apply(gate, x, threads), curve))
                      : apply(up, x, threads, activating(curve)),
                 threads);
  }
};

// Adds to those of the scores [count] the derivatives that the shares of a token's experts have,
// which are in the order of `taken`.
void add_shares_back(const Experts& experts, std::span<const double> scores,
                     std::span<const ExpertShare> taken, std::span<const double> of_shares,
                     double* to) {
  const bool by_sigmoid =
      experts.shares == ShareRule::sigmoid || experts.shares == ShareRule::sigmoid_of_chosen;
  const double first = scores[taken.front().expert];
  std::vector<std::size_t> summed;  // experts in the sum that shares are parts of
  for (std::size_t e = 0; e < experts.count; ++e) {
    const bool chosen = std::ranges::count(taken, e, &ExpertShare::expert) > 0;
    if (experts.shares == ShareRule::of_all || chosen) summed.push_back(e);
  }
  if (experts.shares == ShareRule::sigmoid) summed.clear();
  const auto part = [&](std::size_t e) {
    return by_sigmoid ? sigmoid(scores[e]) : std::exp(scores[e] - first);
  };
  const auto growth = [&](std::size_t e) { return by_sigmoid ? 1 - sigmoid(scores[e]) : 1; };
  for (std::size_t n = 0; n < taken.size(); ++n) {
    const auto [expert, share] = taken[n];
    const double reaching = of_shares[n] * share;
    if (experts.shares == ShareRule::of_near) {
      // The others that are near it, without those that were taken before.
      summed.clear();
      for (std::size_t e = 0; e < experts.count; ++e) {
        const double away = scores[expert] - scores[e];
        const bool gone = std::ranges::count(taken.first(n), e, &ExpertShare::expert) > 0;
        const bool far = away / std::max(std::abs(scores[e]), scores[expert]) > experts.nearness;
        if (!gone && !far) summed.push_back(e);
      }
    }
    to[expert] += reaching * growth(expert);
    double sum = experts.shares == ShareRule::of_near ? 0 : experts.sum_plus;
    for (const std::size_t e : summed) sum += part(e);
    for (const std::size_t e : summed) to[e] -= reaching * growth(e) * part(e) / sum;
    // Powers are relative to the first expert's; what is added to their sum is not.
    if (!summed.empty() && !by_sigmoid && experts.shares != ShareRule::of_near) {
      to[taken.front().expert] -= reaching * experts.sum_plus / sum;
    }
  }
}

// Feed-forwards of the experts that tokens take.
class ExpertsBack {
 public:
  ExpertsBack(const Layer& layer, const Tensor& states)
      : experts_(*layer.weights.experts),
        curve_(curve_of(layer.spec.activation)),
        eps_(layer.spec.self.eps),
        threads_(layer.spec.self.threads),
        states_(states),
        width_(states.shape().back()),
        tokens_(states.size() / width_),
        x_(flat(normed(experts_.before))),
        routed_(flat(normed(experts_.before_router))),
        scores_(apply(experts_.router, routed_, threads_)),
        of_scores_(scores_.size(), 0.0),
        of_x_(x_.size(), 0.0) {
    for (std::size_t t = 0; t < tokens_; ++t) taken_.push_back(best_experts(experts_, scores(t)));
  }

  Tensor back(const Tensor& gradient) {
    Tensor made = flat(gradient);
    if (experts_.shared && experts_.halved) {
      made = mapped(
          threads_, [](double dy) { return dy / 2; }, made);
    }
    const Tensor of_shared = experts_.shared ? shared_back(*experts_.shared, made) : Tensor();
    if (experts_.after) made = norm_back(*experts_.after, total(), eps_, made);
    each_expert([&](std::size_t e, const Taken& own) { expert_back(e, own, made); });
    for (std::size_t t = 0; t < tokens_; ++t) {
      std::vector<double> shares;
      for (const ExpertShare& one : taken_[t]) shares.push_back(of_shares_[{t, one.expert}]);
      add_shares_back(experts_, scores(t), taken_[t], shares,
                      of_scores_.data() + t * experts_.count);
    }
    const Tensor of_routed =
        product_back(experts_.router, Tensor(scores_.shape(), std::move(of_scores_)), threads_);
    Tensor all = sum(before(experts_.before, Tensor(x_.shape(), std::move(of_x_))),
                     before(experts_.before_router, of_routed));
    if (of_shared) all = sum(all, of_shared);
    return all.reshaped(states_.shape());
  }

 private:
  // Tokens of an expert, and its share in each.
  struct Taken {
    std::vector<std::size_t> tokens;
    Numbers shares;
  };

  Tensor flat(const Tensor& x) const { return x.reshaped({tokens_, width_}); }
  Tensor normed(const std::optional<Norm>& norm) const {
    return norm ? apply(*norm, states_, eps_, threads_) : states_;
  }
  Tensor before(const std::optional<Norm>& norm, const Tensor& gradient) const {
    return norm ? norm_back(*norm, flat(states_), eps_, gradient) : gradient;
  }
  std::span<const double> scores(std::size_t token) const {
    return scores_.values<double>().subspan(token * experts_.count, experts_.count);
  }

  template <class Visit>
  void each_expert(const Visit& visit) const {
    for (std::size_t e = 0; e < experts_.count; ++e) {
      Taken own;
      for (std::size_t t = 0; t < tokens_; ++t) {
        for (const ExpertShare& one : taken_[t]) {
          if (one.expert != e) continue;
          own.tokens.push_back(t);
          own.shares.push_back(one.share);
        }
      }
      if (!own.tokens.empty()) visit(e, own);
    }
  }

  // Rows times a share each.
  static Tensor shared_out(const Tensor& rows, const Numbers& shares) {
    Numbers numbers = elements_of(rows);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= shares[i / rows.shape()[1]];
    return {rows.shape(), std::move(numbers)};
  }

  // What an expert reads, and its product or, with a gate, both in turns.
  Tensor read(const Taken& own) const {
    const Tensor in = picked(x_, own.tokens);
    return experts_.shares_of_inputs ? shared_out(in, own.shares) : in;
  }

  // f(g) · u and its derivatives by g and u.
  struct Gated {
    double value, by_gate, by_up;
  };
  Gated gated(double gate, double up) const {
    if (!experts_.limit) {
      const double f = activated(gate, curve_);
      return {f * up, slope(gate, curve_) * up, f};
    }
    const double most = *experts_.limit, g = std::min(gate, most);
    const ActivationCurve own{kernels::Curve::sigmoid, 1.702};
    const double f = activated(g, own), u = std::clamp(up, -most, most) + 1;
    return {f * u, gate <= most ? slope(g, own) * u : 0, std::abs(up) <= most ? f : 0};
  }

  Tensor wide(const Tensor& products) const {
    if (!experts_.gated) {
      return mapped(
          threads_, [&](double u) { return activated(u, curve_); }, products);
    }
    const auto both = products.values<double>();
    Numbers numbers;
    for (std::size_t i = 0; i < both.size(); i += 2) {
      numbers.push_back(gated(both[i], both[i + 1]).value);
    }
    return {{products.shape()[0], products.shape()[1] / 2}, std::move(numbers)};
  }

  Tensor wide_back(const Tensor& products, const Tensor& gradient) const {
    if (!experts_.gated) {
      return mapped(
          threads_, [&](double dy, double u) { return dy * slope(u, curve_); }, gradient, products);
    }
    const auto both = products.values<double>(), dy = gradient.values<double>();
    Numbers numbers;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const Gated own = gated(both[2 * i], both[2 * i + 1]);
      numbers.insert(numbers.end(), {dy[i] * own.by_gate, dy[i] * own.by_up});
    }
    return {products.shape(), std::move(numbers)};
  }

  // What the experts make, before the norm of their sum.
  Tensor total() const {
    Numbers all(x_.size());
    each_expert([&](std::size_t e, const Taken& own) {
      Tensor out =
          apply(experts_.down(e), wide(apply(experts_.gate_up(e), read(own), threads_)), threads_);
      if (!experts_.shares_of_inputs) out = shared_out(out, own.shares);
      add_rows(out, own.tokens, all);
    });
    return {x_.shape(), std::move(all)};
  }

  void add_rows(const Tensor& rows, const std::vector<std::size_t>& tokens, Numbers& to) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      to[tokens[i / width_] * width_ + i % width_] += rows.values<double>()[i];
    }
  }

  // Sums of products of rows, the derivatives of shares.
  void note_shares(std::size_t e, const Taken& own, const Tensor& a, const Tensor& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      of_shares_[{own.tokens[i / width_], e}] += a.values<double>()[i] * b.values<double>()[i];
    }
  }

  void expert_back(std::size_t e, const Taken& own, const Tensor& made) {
    const Tensor in = read(own), products = apply(experts_.gate_up(e), in, threads_);
    Tensor reaching = picked(made, own.tokens);
    if (!experts_.shares_of_inputs) {
      note_shares(e, own, reaching, apply(experts_.down(e), wide(products), threads_));
      reaching = shared_out(reaching, own.shares);
    }
    Tensor of_in = product_back(
        experts_.gate_up(e),
        wide_back(products, product_back(experts_.down(e), reaching, threads_)), threads_);
    if (experts_.shares_of_inputs) {
      note_shares(e, own, of_in, picked(x_, own.tokens));
      of_in = shared_out(of_in, own.shares);
    }
    add_rows(of_in, own.tokens, of_x_);
  }

  Tensor shared_back(const SharedExpert& shared, const Tensor& made) const {
    const Feed feed{shared.gate, shared.up, shared.down, curve_, {}, threads_};
    const Tensor states = flat(states_);
    const Tensor x = shared.before ? apply(*shared.before, states, eps_, threads_) : states;
    const Tensor out = feed.result(x);
    Tensor reaching = made, of_x;
    if (shared.share) {
      Numbers shares = elements_of(apply(shared.share, x, threads_)), of_scores(tokens_);
      const Tensor whole = shared.after ? apply(*shared.after, out, eps_, threads_) : out;
      for (double& share : shares) share = sigmoid(share);
      for (std::size_t i = 0; i < made.size(); ++i) {
        of_scores[i / width_] += made.values<double>()[i] * whole.values<double>()[i];
      }
      for (std::size_t t = 0; t < tokens_; ++t) of_scores[t] *= shares[t] * (1 - shares[t]);
      reaching = shared_out(made, shares);
      of_x = product_back(shared.share, Tensor({tokens_, 1}, std::move(of_scores)), threads_);
    }
    if (shared.after) reaching = norm_back(*shared.after, out, eps_, reaching);
    const Tensor fed = feed.back(x, reaching);
    of_x = of_x ? sum(of_x, fed) : fed;
    return shared.before ? norm_back(*shared.before, states, eps_, of_x) : of_x;
  }

  const Experts& experts_;
  ActivationCurve curve_;
  double eps_;
  std::size_t threads_;
  const Tensor& states_;
  std::size_t width_, tokens_;
  Tensor x_, routed_, scores_;  // what experts and router read, [tokens,D]; [tokens,count]
  Numbers of_scores_, of_x_;    // derivatives
  std::map<std::pair<std::size_t, std::size_t>, double> of_shares_;  // by token and expert
  std::vector<std::vector<ExpertShare>> taken_;                      // of each token
};

}  // namespace

Tensor feed_forward_back(const Layer& layer, const Tensor& x, const Tensor& gradient) {
  if (layer.weights.experts) return ExpertsBack(layer, x).back(gradient);
  const Feed feed{layer.weights.gate, layer.weights.up,
                  layer.weights.down, curve_of(layer.spec.activation),
                  layer.spec.xielu,   layer.spec.self.threads};
  return feed.back(x, gradient);
}

}  // namespace attn
